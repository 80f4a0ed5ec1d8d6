module lab-networks

go 1.26
