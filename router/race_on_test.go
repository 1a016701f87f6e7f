//go:build race

package router_test

// raceDetector says that tests run about ten times slower.
const raceDetector = true
