package router

import (
	"fmt"
	"sort"
	"strings"
)

// Stats are totals since the router was made.
type Stats struct {
	Devices []DeviceStats // in the order of the members; those that were asked for
}

// DeviceStats are the totals of a device.
type DeviceStats struct {
	ID     string
	Down   string // why the member is lost, "" while it lives
	Live   int    // ids that are known
	Parked int    // operations and moves that wait now

	Nodes      int64 // sent to members
	EverParked int64 // that waited for an operand, moves included
	Placed     int64 // nodes that Place sent to another member
	Mixed      int64 // operations whose operands were on several devices

	MovesIn, BytesIn   int64            // to this device, copies for placed nodes included
	MovesOut, BytesOut int64            // from this device to others
	Bridges            map[string]int64 // moves to this device, by bridge

	Fallbacks []Fallback
	Calls     Calls
}

// Fallback counts nodes that ran on another member because their own lacks
// something.
type Fallback struct {
	Op, From, To string
	Reason       string
	Count        int64
}

// Calls counts what a device asked of members.
type Calls struct {
	Submit, Upload, Alias, Free, Flush, Launch int64 // sent without waiting for an answer
	Read, Sync, Other                          int64 // answered: round trips
}

// RoundTrips returns the calls that wait for an answer.
func (c Calls) RoundTrips() int64 { return c.Read + c.Sync + c.Other }

// Total returns all calls.
func (c Calls) Total() int64 {
	return c.Submit + c.Upload + c.Alias + c.Free + c.Flush + c.Launch + c.RoundTrips()
}

// maxFallbacks bounds the kinds of fallback that are told apart.
const maxFallbacks = 256

// traffic counts moves and fallbacks of a client. The router's lock guards it.
type traffic struct {
	placed, mixed                        int64
	movesIn, bytesIn, movesOut, bytesOut int64
	bridges                              map[string]int64
	fallbacks                            map[Fallback]int64 // by all but the count
}

func (t *traffic) moved(bridge string, bytes int64) {
	t.movesIn++
	t.bytesIn += bytes
	if t.bridges == nil {
		t.bridges = map[string]int64{}
	}
	t.bridges[bridge]++
}

func (t *traffic) left(bytes int64) {
	t.movesOut++
	t.bytesOut += bytes
}

func (t *traffic) fallback(f Fallback) {
	if t.fallbacks == nil {
		t.fallbacks = map[Fallback]int64{}
	}
	if _, known := t.fallbacks[f]; !known && len(t.fallbacks) >= maxFallbacks {
		f = Fallback{Op: "others", From: f.From}
	}
	t.fallbacks[f]++
}

// Stats returns the totals so far.
func (r *Router) Stats() Stats {
	var s Stats
	r.clientsMu.Lock()
	clients := append([]*Client(nil), r.clients...)
	r.clientsMu.Unlock()
	for _, c := range clients {
		if c != nil {
			s.Devices = append(s.Devices, c.Stats())
		}
	}
	return s
}

// Stats returns the totals of the device.
func (c *Client) Stats() DeviceStats {
	s := DeviceStats{ID: c.home.m.id.String(), Live: c.Live(), Nodes: c.nodes.Load(), Bridges: map[string]int64{}}
	if err := c.home.m.down(); err != nil {
		s.Down = err.Error()
	}
	for _, l := range c.lanes {
		k := &l.calls
		s.Calls.Submit += k.submit.Load()
		s.Calls.Upload += k.upload.Load()
		s.Calls.Alias += k.alias.Load()
		s.Calls.Free += k.free.Load()
		s.Calls.Flush += k.flush.Load()
		s.Calls.Launch += k.launch.Load()
		s.Calls.Read += k.read.Load()
		s.Calls.Sync += k.sync.Load()
		s.Calls.Other += k.other.Load()
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	t := &c.traffic
	s.Parked, s.EverParked = len(c.items), c.everParked
	s.Placed, s.Mixed = t.placed, t.mixed
	s.MovesIn, s.BytesIn, s.MovesOut, s.BytesOut = t.movesIn, t.bytesIn, t.movesOut, t.bytesOut
	for name, n := range t.bridges {
		s.Bridges[name] = n
	}
	for f, n := range t.fallbacks {
		f.Count = n
		s.Fallbacks = append(s.Fallbacks, f)
	}
	sort.Slice(s.Fallbacks, func(i, j int) bool {
		return fmt.Sprint(s.Fallbacks[i]) < fmt.Sprint(s.Fallbacks[j])
	})
	return s
}

// String returns one line per device and per kind of fallback.
func (s Stats) String() string {
	var b strings.Builder
	for _, d := range s.Devices {
		fmt.Fprintf(&b, "%s: %d nodes in %d submissions, %d waited; moves: %d in (%d bytes), %d out (%d bytes); %d round trips",
			d.ID, d.Nodes, d.Calls.Submit, d.EverParked, d.MovesIn, d.BytesIn, d.MovesOut, d.BytesOut, d.Calls.RoundTrips())
		if d.Down != "" {
			fmt.Fprintf(&b, "; lost: %s", d.Down)
		}
		b.WriteByte('\n')
		for _, f := range d.Fallbacks {
			fmt.Fprintf(&b, "  %s ran on %s %d times: %s\n", f.Op, f.To, f.Count, f.Reason)
		}
	}
	return b.String()
}
