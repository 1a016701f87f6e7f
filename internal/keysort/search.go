package keysort

// together is how many searches take turns, so that they wait for memory at the
// same time.
const together = 16

// Search writes how many of the sorted keys lie before each element of wanted, or
// not after it if right is set. There is at least one key.
func Search[T Bits](y []int64, keys, wanted []T, order Order[T], right bool) {
	var v [together]T
	var at [together]int
	for len(y) > 0 {
		m := min(together, len(y))
		order.Keys(v[:m], wanted, 1)
		clear(at[:])
		if right {
			searchRight(&at, keys, &v)
		} else {
			searchLeft(&at, keys, &v)
		}
		for i, a := range at[:m] {
			y[i] = int64(a)
		}
		y, wanted = y[m:], wanted[m:]
	}
}

func searchLeft[T Bits](at *[together]int, keys []T, v *[together]T) {
	n := len(keys)
	for ; n > 1; n -= n / 2 {
		half := n / 2
		for i, k := range v {
			a := at[i]
			next := a + half
			if keys[next-1] < k {
				a = next
			}
			at[i] = a
		}
	}
	for i, k := range v {
		if keys[at[i]] < k {
			at[i]++
		}
	}
}

func searchRight[T Bits](at *[together]int, keys []T, v *[together]T) {
	n := len(keys)
	for ; n > 1; n -= n / 2 {
		half := n / 2
		for i, k := range v {
			a := at[i]
			next := a + half
			if keys[next-1] <= k {
				a = next
			}
			at[i] = a
		}
	}
	for i, k := range v {
		if keys[at[i]] <= k {
			at[i]++
		}
	}
}
