package main

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// treeTable compares summation trees for sums over rows and over columns, as
// time over the time of the tree in use.
func treeTable(rounds int) error {
	exes := executors()
	fmt.Print("One thread. Time of a sum over that of the tree in use, in the same rounds (below 1 is faster).\n\n| sum | tree |")
	for _, e := range exes {
		fmt.Printf(" %s |", e.name)
	}
	fmt.Print("\n| --- | --- |")
	for range exes {
		fmt.Print(" ---: |")
	}
	fmt.Println()
	var rows, columns []kernel.Tree
	for _, chunk := range []int{512, 1024, 2048, 4096} {
		for _, lanes := range []int{64, 128, 256} {
			rows = append(rows, kernel.Tree{Kind: kernel.Striped, Chunk: chunk, Lanes: lanes})
		}
	}
	for _, chunk := range []int{16, 32, 64, 128, 256} {
		columns = append(columns, kernel.Tree{Kind: kernel.Columns, Chunk: chunk, Lanes: 1})
	}
	cases := []struct {
		name, text string
		trees      []kernel.Tree
		base       kernel.Tree
	}{
		{"rows of 1024 (64 of them)", "program p\n  in %1 f32[64,1024]\n  %2 = sum %1 {axes=[1]}\n  out %2\n", rows, kernel.StripedTree},
		{"rows of 50257 (16)", "program p\n  in %1 f32[16,50257]\n  %2 = sum %1 {axes=[1]}\n  out %2\n", rows, kernel.StripedTree},
		{"columns, 1024×1024", "program p\n  in %1 f32[1024,1024]\n  %2 = sum %1 {axes=[0]}\n  out %2\n", columns, kernel.ColumnsTree},
	}
	for _, c := range cases {
		table := make([][]*variant, len(exes)) // by executor, then tree; the base is timed once more at index 0
		for i, e := range exes {
			for _, tree := range append([]kernel.Tree{c.base}, c.trees...) {
				p, err := lowered(c.text)
				if err != nil {
					return err
				}
				p.k.Reductions[0].Tree = tree
				exe, err := e.compile(p.k)
				if err != nil {
					return fmt.Errorf("%s on %s: %w", tree, e.name, err)
				}
				table[i] = append(table[i], &variant{name: tree.String(), run: func() { exe.Run(p.launch) }})
			}
			measure(rounds, table[i])
		}
		for j, tree := range c.trees {
			fmt.Printf("| %s | %s |", c.name, tree)
			for i := range exes {
				fmt.Printf(" %.2f |", table[i][j+1].median()/table[i][0].median())
			}
			fmt.Println()
		}
	}
	return nil
}
