package main

import (
	"context"
	"fmt"
	"os"

	"github.com/sinter-go/sinter/bench/suite"
)

// suiteTable measures all workloads beside the peers that are installed.
func suiteTable(rounds int) error {
	ctx := context.Background()
	s, err := suite.Open(ctx, suite.Options{Rounds: rounds, Note: func(text string) { fmt.Fprintln(os.Stderr, text) }})
	if err != nil {
		return err
	}
	defer s.Close()
	var names []string
	for _, p := range s.Peers() {
		names = append(names, p.Peer)
	}
	fmt.Println(suite.Legend)
	t := suite.NewTable(os.Stdout, true, names)
	if err := s.Limits(ctx, t.Limit); err != nil {
		return err
	}
	return s.Run(ctx, t.Result)
}
