package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// formatVersion of files. A file of another version is not read.
const formatVersion = 1

// maxFile bounds the size of a file that is read.
const maxFile = 4 << 20

// Measured is a candidate in a ranking: the least time of a run, or why there is
// none.
type Measured struct {
	Candidate string  `json:"candidate"`
	NS        float64 `json:"ns,omitempty"`
	Skipped   Reason  `json:"skipped,omitempty"`
	Detail    string  `json:"detail,omitempty"`
}

// Table is what was measured on a machine. It is safe for concurrent use; nil is an
// empty one that cannot be filled.
type Table struct {
	key  string
	path string // "" of one without a file

	mu   sync.RWMutex
	rank map[string]map[string][]Measured // by choice and bucket, the fastest first
}

// file is a table as JSON.
type file struct {
	Version int                              `json:"version"`
	Key     string                           `json:"key"`
	Choices map[string]map[string][]Measured `json:"choices"`
}

// New returns an empty table without a file.
func New() *Table { return &Table{rank: map[string]map[string][]Measured{}} }

// Open reads the table that the folder has for a key: what the measurements depend
// on, such as processor, features and version. The table is always there to be used;
// an error says that its file was ignored, because it is damaged or another
// machine's, and will be written anew.
func Open(dir, key string) (*Table, error) {
	t := New()
	t.key, t.path = key, filepath.Join(dir, fileName(key))
	b, err := readFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	switch {
	case err != nil:
	case f.Version != formatVersion:
		err = fmt.Errorf("its version is %d, expected %d", f.Version, formatVersion)
	case f.Key != key:
		err = fmt.Errorf("it is of %q, this is %q", f.Key, key)
	}
	if err != nil {
		return t, &ir.Error{Kind: ir.ErrFormat, Msg: "tune: ignoring " + t.path, Cause: err}
	}
	if f.Choices != nil {
		t.rank = f.Choices
	}
	return t, nil
}

// fileName is the file of a key.
func fileName(key string) string {
	h := fnv.New64a()
	h.Write([]byte(key))
	return fmt.Sprintf("tune-%016x.json", h.Sum64())
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("it is no file of at most %d bytes", maxFile)
	}
	return os.ReadFile(path)
}

// Path returns the file of the table, "" if it has none.
func (t *Table) Path() string {
	if t == nil {
		return ""
	}
	return t.path
}

// Save writes the table, so that a reader finds the old file or the new one. What
// other processes have measured meanwhile is kept where this one has nothing.
func (t *Table) Save() error {
	if t.Path() == "" {
		return nil
	}
	other, _ := Open(filepath.Dir(t.path), t.key) // a damaged file is written anew
	t.mu.RLock()
	f := file{Version: formatVersion, Key: t.key, Choices: other.rank}
	for choice, buckets := range t.rank {
		if f.Choices[choice] == nil {
			f.Choices[choice] = map[string][]Measured{}
		}
		for bucket, list := range buckets {
			f.Choices[choice][bucket] = list
		}
	}
	b, err := json.MarshalIndent(f, "", " ")
	t.mu.RUnlock()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(t.path), ".tune-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(b, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), t.path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// Get returns the ranking of a bucket, the fastest first, then what was skipped.
func (t *Table) Get(choice, bucket string) []Measured {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return append([]Measured(nil), t.rank[choice][bucket]...)
}

// Set replaces the ranking of a bucket.
func (t *Table) Set(choice, bucket string, ranking []Measured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rank[choice] == nil {
		t.rank[choice] = map[string][]Measured{}
	}
	t.rank[choice][bucket] = ranking
}

// Forget drops all rankings of the table, not of its file.
func (t *Table) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rank = map[string]map[string][]Measured{}
}

// ranking returns the names of the measured candidates.
func (t *Table) ranking(choice, bucket string) []string {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := t.rank[choice][bucket]
	if len(list) == 0 {
		return nil
	}
	out := make([]string, 0, len(list))
	for _, m := range list {
		if m.Skipped == "" {
			out = append(out, m.Candidate)
		}
	}
	return out
}
