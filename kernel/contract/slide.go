package contract

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// slide is a problem of one row whose columns are windows over memory, such as a
// channel of a depthwise convolution. Packed, each element would be written for
// every window that it is in, to be read once; so the windows are read where they
// lie, some rows of them at a time for each weight.
//
// Its one range is the linear index of all loops and columns; the last two axes of
// it are a picture, the others number pictures.
type slide struct {
	*problem
	slides     *amd64.Slides
	table      []int64 // offsets of the ks
	wstep      int64
	weights    *kernel.Operand
	windows    *kernel.Operand
	pictures   span
	rows, cols int64 // of a picture
	row, col   int64 // from one window to the next
	// Results are finished by bands: of some rows of a picture, or of whole pictures.
	bandRows, bandPictures int64
	each                   int64 // bands in a task
}

// The limits of problems that slide, and the sizes of their parts.
const (
	slideKs   = 256      // beyond, rows of memory rather than windows
	bandBytes = 32 << 10 // of the results of a band
	slideTask = 1 << 20  // products in a task
)

// slide binds a launch whose windows slide; nil if it is none of that kind.
func (c *Code) slide(l *kernel.Launch) *slide {
	ks, cols := newSpan(c.ks, l.Extents), newSpan(c.cols, l.Extents)
	n := len(cols.axes)
	if c.sides[0].arg < 0 || c.sides[1].arg < 0 || n == 0 || newSpan(c.rows, l.Extents).size() != 1 {
		return nil
	}
	p := &problem{Code: c, l: l, fault: c.newFault(), size: int64(c.tiles.Size), ks: ks, k: ks.size()}
	s := &slide{problem: p, weights: &l.Args[c.sides[0].arg], windows: &l.Args[c.sides[1].arg]}
	inner := cols.axes[n-1]
	s.slides = amd64.SlidesOf(c.level, c.kind, s.windows.Strides[inner])
	step, one := ks.step(s.weights.Strides)
	if s.slides == nil || !one || p.k < 2 || p.k > min(slideKs, c.chunk) {
		return nil
	}
	s.wstep, s.col = step*p.size, s.windows.Strides[inner]*p.size
	s.rows, s.cols = 1, cols.extents[n-1]
	all := newSpan(append(slices.Clone(c.loops), cols.axes...), l.Extents)
	last := len(all.axes) - 1
	if n > 1 {
		last--
		s.rows, s.row = all.extents[last], s.windows.Strides[all.axes[last]]*p.size
	}
	s.pictures = span{all.axes[:last], all.extents[:last]}
	p.ranges[1] = all
	p.extents = [2]int64{1, all.size()}
	s.table = p.offsets(s.windows.Strides)
	if p.direct >= 0 {
		a := &l.Args[p.direct]
		if p.out.place = s.cols == 1 || a.Strides[inner] == 1; p.out.place {
			if s.rows > 1 {
				p.out.row = a.Strides[all.axes[last]] * p.size
			}
			return s
		}
	}
	p.out.row = s.cols * p.size
	if p.out.walk = p.epilogue.newWalk(p, p.ranges, [2]int64{0, 1}); p.out.walk == nil {
		return nil
	}
	return s
}

// work divides the pictures into bands, and these into tasks.
func (s *slide) work(threads int) *kernel.Work {
	tile := int64(s.slides.Rows)
	s.bandRows = min(max(bandBytes/(s.cols*s.size)/tile, 1)*tile, s.rows)
	s.bandPictures = 1
	if pictures := s.pictures.size(); s.bandRows == s.rows {
		s.bandPictures = min(max(bandBytes/(s.rows*s.cols*s.size), 1), pictures)
		if threads > 1 {
			s.bandPictures = min(s.bandPictures, max(pictures/int64(tasksEach*threads), 1))
		}
	}
	bands := s.bands() * ((s.pictures.size() + s.bandPictures - 1) / s.bandPictures)
	s.each = min(max(slideTask/(s.bandPictures*s.bandRows*s.cols*s.k), 1), bands)
	if threads > 1 {
		s.each = min(s.each, max(bands/int64(tasksEach*threads), 1))
	}
	return &kernel.Work{
		Phases: []kernel.Phase{{Tasks: (bands + s.each - 1) / s.each, Cost: s.extents[1] * s.k, Do: func(n int64) {
			for band := n * s.each; band < min((n+1)*s.each, bands); band++ {
				s.run(band)
			}
		}}},
		Release: func() {
			s.findFault()
			runtime.KeepAlive(s.l)
		},
	}
}

// bands returns how many bands a picture has.
func (s *slide) bands() int64 { return (s.rows + s.bandRows - 1) / s.bandRows }

// origin is where an argument has the first element of a picture.
func (s *slide) origin(a *kernel.Operand, picture int64) uintptr {
	return uintptr(a.Base) + uintptr((a.Offset+s.pictures.at(picture, a.Strides))*s.size)
}

// run computes one band.
func (s *slide) run(band int64) {
	picture, row := band/s.bands()*s.bandPictures, band%s.bands()*s.bandRows
	end := min(picture+s.bandPictures, s.pictures.size())
	rows := min(s.bandRows, s.rows-row)
	x := &amd64.Slide{WStep: s.wstep, BRow: s.row, CRow: s.out.row, K: s.k, Table: uintptr(unsafe.Pointer(&s.table[0]))}
	if s.out.place {
		for ; picture < end; picture++ {
			s.picture(x, picture, row, rows, s.origin(&s.l.Args[s.direct], picture)+uintptr(row*s.out.row))
		}
		runtime.KeepAlive(s)
		return
	}
	first, size := (picture*s.rows+row)*s.cols, (end-picture)*rows*s.out.row
	part := takeBytes(int(size))
	c := unsafe.Pointer(unsafe.SliceData(*part))
	for at := uintptr(c); picture < end; picture++ {
		s.picture(x, picture, row, rows, at)
		at += uintptr(rows * s.out.row)
	}
	s.out.walk.run(c, size, nil, [2]int64{0, first}, [2]int64{1, first + size/s.size})
	runtime.KeepAlive(part)
	giveBytes(part)
	runtime.KeepAlive(s)
}

// picture computes some rows of a picture, to c.
func (s *slide) picture(x *amd64.Slide, picture, from, rows int64, c uintptr) {
	x.W = s.origin(s.weights, picture)
	b := s.origin(s.windows, picture) + uintptr(from*s.row)
	tiles := (rows + int64(s.slides.Rows) - 1) / int64(s.slides.Rows)
	wide := int64(s.slides.Cols)
	for tile := range tiles {
		row, end := tile*rows/tiles, (tile+1)*rows/tiles
		x.Rows = int(end - row)
		for col := int64(0); col < s.cols; col += wide {
			x.Cols = int(min(wide, s.cols-col))
			x.B, x.C = b+uintptr(row*s.row+col*s.col), c+uintptr(row*s.out.row+col*s.size)
			s.slides.Run(x)
		}
	}
}
