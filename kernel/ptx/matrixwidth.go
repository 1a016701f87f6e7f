package ptx

// matrixWidths are the columns that tiles of Hopper's form have. Those of an operand that is
// turned come 64 at a time.
var matrixWidths = [...]int64{64, 96, 128, 192, 256}

// What a tile takes, in cycles of a multiprocessor of an H100 or H200.
const (
	unitRate   = 2048 // products of a cycle
	slabRate   = 64   // bytes that a multiprocessor takes from the L2 cache,
	cacheRate  = 48   // and what the cache gives each of them if all ask
	tileCost   = 1000 // of a tile, whatever its width: until the first slab is there, and after the last
	columnCost = 8    // of finishing a column: its bytes on their way out
)

// matrixWidth decides how many columns the tiles of a product have: as many as let the
// multiprocessor that has most of them be done first. Wide tiles multiply most for what they
// read; of narrow ones no multiprocessor has many more than another. Widths that take as
// long are decided for the wider one, which reads less.
func (m *Module) matrixWidth(z sizes, turned bool) int {
	best, least := int64(0), int64(0)
	for _, cols := range matrixWidths {
		if turned && cols%64 != 0 {
			continue
		}
		if c := matrixCost(z, cols, m.target.sms()); best == 0 || c <= least {
			best, least = cols, c
		}
	}
	return int(best)
}

// matrixCost is what a product takes in tiles of so many columns: what units or caches take
// for each slab, and what each tile does.
func matrixCost(z sizes, cols, sms int64) int64 {
	tiles := z.unitTiles(matrixRows, cols)
	bytes := 2 * matrixDepth * (matrixRows + cols)
	slab := max(matrixRows*cols*matrixDepth/unitRate, bytes/slabRate, bytes*min(tiles, sms)/(cacheRate*sms))
	slabs := (z.group + matrixDepth - 1) / matrixDepth
	return (tiles + sms - 1) / sms * (slabs*slab + tileCost + columnCost*cols)
}
