// What the seed describes: one entry of a map for every address of 10.0.0.0/8, and 100,000 of them given away. Says
// when it is built, and stays until its input ends.
package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime/debug"
)

const (
	first  = 0x0a000002
	count  = 1<<24 - 3
	given  = 100_000
	stride = 6_700_417
)

func text(index int) string {
	address := uint32(first + index)
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}).String()
}

func main() {
	taken := map[string]bool{}
	for index := range count {
		taken[text(index)] = false
	}
	fmt.Println("built")
	for index := range given {
		taken[text(index*stride%count)] = true
	}
	debug.FreeOSMemory() // the most favourable moment
	fmt.Println(len(taken))
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println(len(taken)) // in use until here
}
