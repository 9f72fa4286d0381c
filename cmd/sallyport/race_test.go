//go:build race

package main

// raceEnabled says that this test binary watches for data races, and is several times slower.
const raceEnabled = true
