// Package faulty is a backend that misbehaves on a script: it wraps another one
// and delays, holds or fails operations, lacks some, loses capabilities, panics,
// or is disconnected. Tests of routers, fusers and remote devices run over it.
//
// What happens follows from the script and from the order of nodes alone: the
// n-th node of a name is the n-th in queue order. Delays change when, never what.
// With an empty script it is a plain queue in front of the inner backend and
// passes the conformance suite.
package faulty
