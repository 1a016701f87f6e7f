package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sinter-go/sinter/train/sink"
)

// openLogs opens the files of --logs, and returns what closes them: an event file
// for TensorBoard, and epochs.csv, which a resumed training begins anew.
func openLogs(dir string) ([]sink.Sink, func() error, error) {
	if dir == "" {
		return nil, func() error { return nil }, nil
	}
	board, err := sink.NewTensorBoard(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("--logs: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "epochs.csv"))
	if err != nil {
		board.Close()
		return nil, nil, fmt.Errorf("--logs: %w", err)
	}
	lines := sink.CSV(f)
	return []sink.Sink{board, lines}, func() error { return errors.Join(board.Close(), lines.Close(), f.Close()) }, nil
}
