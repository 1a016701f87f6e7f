// Package metric measures predictions. A metric is a small value: its zero value,
// or one made with what it needs to know, takes in batches by Add and tells what
// they come to. How samples were divided into batches, and their order, does not
// change a bit of any result: counts are integers, sums of floats are exact until
// they are read.
//
// Slices come from sinter.Data; nothing here needs a device.
package metric
