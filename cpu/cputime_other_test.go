//go:build !linux

package cpu

import "testing"

func reportCPU(b *testing.B, round func()) {
	for b.Loop() {
		round()
	}
}
