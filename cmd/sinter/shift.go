package main

import (
	"math/rand/v2"
	"slices"
)

// shiftShare is the share of training digits that are moved.
const shiftShare = 0.3

// sometimesShift moves some digits by a pixel in any direction, so that the
// network learns that the place does not matter.
func sometimesShift(sample []float32, random *rand.Rand) {
	if random.Float64() < shiftShare {
		shift(sample, random.IntN(3)-1, random.IntN(3)-1)
	}
}

// shift moves a digit by dx to the right and dy down; paper comes in.
func shift(sample []float32, dx, dy int) {
	from := slices.Clone(sample)
	for y := range side {
		for x := range side {
			v := float32(0)
			if fx, fy := x-dx, y-dy; fx >= 0 && fx < side && fy >= 0 && fy < side {
				v = from[fy*side+fx]
			}
			sample[y*side+x] = v
		}
	}
}
