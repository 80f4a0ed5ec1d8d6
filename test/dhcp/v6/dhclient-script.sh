#!/bin/sh
# What dhclient -6 runs at each change: the address on the interface, nothing else of the machine. Exit 3 says that
# another host has the address; dhclient declines it then. (Debian's own script does not wait for duplicates.)
case $reason in
BOUND6 | RENEW6 | REBIND6)
  if [ -n "$old_ip6_address" ] && [ "$old_ip6_address" != "$new_ip6_address" ]; then
    ip -6 address del "$old_ip6_address/128" dev "$interface" 2>/dev/null
  fi
  # With lifetimes: the kernel takes such an address off again when it finds a duplicate.
  ip -6 address replace "$new_ip6_address/128" dev "$interface" \
    valid_lft "$new_max_life" preferred_lft "$new_preferred_life" || exit 3
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    case $(ip -6 -o address show dev "$interface" to "$new_ip6_address") in
    "") exit 3 ;;
    *tentative*) sleep 0.2 ;;
    *) exit 0 ;;
    esac
  done
  exit 3
  ;;
EXPIRE6 | RELEASE6 | STOP6 | FAIL6)
  [ -n "$old_ip6_address" ] && ip -6 address del "$old_ip6_address/128" dev "$interface" 2>/dev/null
  ;;
esac
exit 0
