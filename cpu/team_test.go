package cpu

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestTeam: each claim of many jobs is done once, by a member that nobody else is,
// and a job inside a job is done too.
func TestTeam(t *testing.T) {
	for _, helpers := range []int{0, 1, 4} {
		team := newTeam(helpers)
		var members [5]atomic.Int32
		for round := range 2000 {
			claims := int64(round % 40)
			done := make([]atomic.Int32, claims)
			team.run(claims, wakeTime, func(n int64, member int) {
				if members[member].Add(1) != 1 {
					t.Errorf("member %d is two goroutines", member)
				}
				if round%100 == 0 && member == 0 {
					inner := 0
					team.run(3, wakeTime, func(int64, int) { inner++ })
					if inner != 3 {
						t.Errorf("%d of 3 claims of a job inside a job", inner)
					}
				}
				done[n].Add(1)
				members[member].Add(-1)
			})
			for n := range done {
				if v := done[n].Load(); v != 1 {
					t.Fatalf("%d helpers, round %d: claim %d was done %d times", helpers, round, n, v)
				}
			}
		}
		team.close()
	}
}

// TestTeamPanics: a panic of any member comes back on the caller when all are out,
// and the team works on.
func TestTeamPanics(t *testing.T) {
	team := newTeam(3)
	defer team.close()
	for round := range 50 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic reached the caller")
				}
				if in := team.state.Load() & insideMask; in != 0 {
					t.Errorf("%d helpers are inside", in)
				}
			}()
			team.run(20, time.Second, func(n int64, _ int) {
				if n == int64(round%20) {
					panic("a claim")
				}
				time.Sleep(10 * time.Microsecond)
			})
		}()
	}
	sum := atomic.Int64{}
	team.run(10, time.Second, func(n int64, _ int) { sum.Add(n) })
	if sum.Load() != 45 {
		t.Errorf("sum of the claims is %d", sum.Load())
	}
}

// TestTeamLate: a caller that waited late works alone for a while, longer each
// time, and then tries again; claims that take long are no reason.
func TestTeamLate(t *testing.T) {
	team := newTeam(1)
	defer team.close()
	alone := func() (jobs int) {
		for team.shy > 0 {
			jobs++
			team.run(2, time.Second, func(_ int64, member int) {
				if member != 0 {
					t.Error("a helper came though the caller works alone")
				}
			})
		}
		return jobs
	}
	for i, c := range []struct {
		late, claim time.Duration
		want        int
	}{
		{lateTime - 1, 0, 0},
		{10 * lateTime, claimTime, minShy},
		{10 * lateTime, claimTime, 2 * minShy},
		{10 * lateTime, 4 * lateTime, 0},
		{10 * lateTime, claimTime, 2 * minShy},
		{0, 0, 0},
		{0, 0, 0},
		{10 * lateTime, claimTime, minShy},
	} {
		team.waited(c.late, c.claim)
		if got := alone(); got != c.want {
			t.Errorf("wait %d of %v for claims of %v: %d jobs alone, expected %d", i, c.late, c.claim, got, c.want)
		}
	}
	for range 20 {
		team.waited(time.Second, 0)
	}
	if got := alone(); got != maxShy {
		t.Errorf("%d jobs alone, expected %d at most", got, maxShy)
	}
}

// TestIdleDeviceParks: soon after its work all goroutines of a device are parked, and
// take no time from anybody.
func TestIdleDeviceParks(t *testing.T) {
	d, launch := chained(t, Options{Threads: 4}, 1<<20)
	for range 3 {
		if err := d.Launch(t.Context(), launch); err != nil {
			t.Fatal(err)
		}
		if err := d.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		idle := false
		for start := time.Now(); !idle && time.Since(start) < 10*time.Second; {
			time.Sleep(time.Millisecond)
			d.q.mu.Lock()
			idle = d.q.parked && d.workers.team.parked.Load() == 3
			d.q.mu.Unlock()
		}
		if !idle {
			t.Fatalf("%d of 3 helpers are parked", d.workers.team.parked.Load())
		}
	}
}

// BenchmarkTeam is the hand-over of a job whose claims do nothing, as a phase of a
// work is, while helpers look for work, and when they are parked.
func BenchmarkTeam(b *testing.B) {
	nothing := func(int64, int) {}
	b.Run("hot", func(b *testing.B) {
		team := newTeam(1)
		defer team.close()
		team.run(2, time.Second, nothing)
		for b.Loop() {
			team.run(2, wakeTime, nothing)
		}
	})
	b.Run("parked", func(b *testing.B) {
		team := newTeam(1)
		defer team.close()
		for range b.N {
			b.StopTimer()
			time.Sleep(time.Millisecond)
			b.StartTimer()
			team.run(2, wakeTime, nothing)
		}
	})
}
