module peraddress

go 1.22
