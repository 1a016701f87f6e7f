package ptx

import "github.com/sinter-go/sinter/kernel"

// What a loop has loaded for a later turn waits in registers that the loop carries.

// hold gives what tiles have loaded registers that the loop carries, one to each value.
func (e *tiledEmitter) hold(tiles []*tile) []map[kernel.Ref][]reg {
	var out []map[kernel.Ref][]reg
	made := map[reg]reg{}
	for _, t := range tiles {
		h := map[kernel.Ref][]reg{}
		for _, r := range e.loadsOf(t.refs) {
			for _, v := range t.vals[r] {
				if made[v] == "" {
					c := v.class()
					made[v] = e.to(c, "mov"+classType[c], v)
				}
				h[r] = append(h[r], made[v])
			}
		}
		out = append(out, h)
	}
	return out
}

// keep moves what tiles have loaded into the registers of those before.
func (e *tiledEmitter) keep(held []map[kernel.Ref][]reg, tiles []*tile) {
	e.forget()
	done := map[reg]bool{}
	for i, t := range tiles {
		for _, r := range e.loadsOf(t.refs) {
			for n, v := range t.vals[r] {
				if done[held[i][r][n]] {
					continue
				}
				done[held[i][r][n]] = true
				e.op("mov"+classType[v.class()], held[i][r][n], v)
			}
		}
	}
}
