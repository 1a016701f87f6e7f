//go:build !linux

package amd64

import "testing"

func reportCPU(b *testing.B, round func()) {
	for b.Loop() {
		round()
	}
}
