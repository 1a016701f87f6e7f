package cuda_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

var exhaustive = flag.String("exhaustive", "", "regular expression: cases of one f32 operand to compare on all 2^32 values, such as 'row (exp|log) f32'")

// TestExhaustive compares device and interpreter on every f32 there is.
func TestExhaustive(t *testing.T) {
	if *exhaustive == "" {
		t.Skip("skipped: runs only with -exhaustive")
	}
	want, err := regexp.Compile(*exhaustive)
	if err != nil {
		t.Fatal(err)
	}
	d := openDevice(t)
	const block = 1 << 21
	for _, s := range append(ptxtest.Elementwise(block), ptxtest.Rows(block)...) {
		if !want.MatchString(s.Name) || len(s.In) != 1 || s.In[0].Type != ir.F32 || s.Axes != "p" {
			continue
		}
		s.Extents = []int64{block}
		s.In[0].Fill = ptxtest.Zeros
		start := time.Now()
		total, firsts := 0, []string{}
		var mu sync.Mutex
		queue := make(chan uint32)
		var wg sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), 16) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				c := s.Make()
				for from := range queue {
					in := c.Buffers[0].Bytes()
					for i := range uint32(block) {
						binary.LittleEndian.PutUint32(in[4*i:], from+i)
					}
					err := d.ctx.Do(func() error {
						n, detail, err := compare(d, c)
						if n > 0 {
							mu.Lock()
							total += n
							firsts = append(firsts, fmt.Sprintf("from %#x: %s", from, detail))
							mu.Unlock()
						}
						return err
					})
					if err != nil {
						t.Errorf("%s: %v", s.Name, err)
					}
				}
			}()
		}
		for b := range uint32(1 << 32 / block) {
			queue <- b * block
		}
		close(queue)
		wg.Wait()
		t.Logf("%-24s 4294967296 values, %d mismatches, %.1f s", s.Name, total, time.Since(start).Seconds())
		for i, f := range firsts {
			if i < 5 {
				t.Error(f)
			}
		}
	}
}
