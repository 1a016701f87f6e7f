package main

import "fmt"

// workloads are fused kernels by name; %[1]d and %[2]d are the extents.
var workloads = []struct{ name, text string }{
	{"relu(x·w+b)", `program p
  in %%1 f32[%[1]d,%[2]d]
  in %%2 f32[%[1]d,%[2]d]
  in %%3 f32[%[2]d]
  %%4 = mul %%1 %%2
  %%5 = add %%4 %%3
  %%6 = relu %%5
  out %%6
`},
	{"tanh(x)·exp(x)", `program p
  in %%1 f32[%[1]d,%[2]d]
  %%2 = tanh %%1
  %%3 = exp %%1
  %%4 = mul %%2 %%3
  out %%4
`},
	{"softmax, last axis", "program p\n  in %%1 f32[%[1]d,%[2]d]\n  %%2 = softmax %%1 {axis=1}\n  out %%2\n"},
	{"sum, last axis", "program p\n  in %%1 f32[%[1]d,%[2]d]\n  %%2 = sum %%1 {axes=[1]}\n  out %%2\n"},
	{"sum, first axis", "program p\n  in %%1 f32[%[1]d,%[2]d]\n  %%2 = sum %%1 {axes=[0]}\n  out %%2\n"},
}

// kernels prints each workload as a share of the speed of a copy of its bytes.
func kernels(rounds int) error {
	exes := executors()
	fmt.Print("One thread. Bytes of the kernel over its time, as a share of a plain copy in the same rounds (higher is better).\n\n| kernel | shape |")
	for _, e := range exes {
		fmt.Printf(" %s |", e.name)
	}
	fmt.Print("\n| --- | --- |")
	for range exes {
		fmt.Print(" ---: |")
	}
	fmt.Println()
	for _, w := range workloads {
		for _, shape := range [][2]int{{64, 1024}, {1024, 1024}, {16384, 1024}} {
			p, err := lowered(fmt.Sprintf(w.text, shape[0], shape[1]))
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			ref := copyOf(p.bytes)
			vs := []*variant{ref}
			for _, e := range exes {
				exe, err := e.compile(p.k)
				if err != nil {
					vs = append(vs, nil)
					continue
				}
				vs = append(vs, &variant{name: e.name, run: func() { exe.Run(p.launch) }})
			}
			live := vs[:0:0]
			for _, v := range vs {
				if v != nil {
					live = append(live, v)
				}
			}
			measure(rounds, live)
			fmt.Printf("| %s | %d×%d |", w.name, shape[0], shape[1])
			for _, v := range vs[1:] {
				if v == nil {
					fmt.Print(" refused |")
				} else {
					fmt.Printf(" %.2f |", ref.median()/v.median())
				}
			}
			fmt.Println()
		}
	}
	return nil
}
