package backend

import (
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Nodes is a list of nodes that may be made only when somebody asks for it: a
// launch needs its nodes when something went wrong, and to be translated.
type Nodes struct {
	list []ir.Node
	lazy *lazyNodes
}

type lazyNodes struct {
	once sync.Once
	make func() []ir.Node
	list []ir.Node
}

// NodesOf returns a list of nodes.
func NodesOf(nodes ...ir.Node) Nodes { return Nodes{list: nodes} }

// LazyNodes returns the list that f makes when it is first asked for, on any
// goroutine.
func LazyNodes(f func() []ir.Node) Nodes { return Nodes{lazy: &lazyNodes{make: f}} }

// List returns the nodes, which the caller must not change.
func (n Nodes) List() []ir.Node {
	if n.lazy == nil {
		return n.list
	}
	n.lazy.once.Do(func() { n.lazy.list, n.lazy.make = n.lazy.make(), nil })
	return n.lazy.list
}
