package ir

import "fmt"

// checkNames returns an error for the first name of a text that nothing defines:
// neither known nor an earlier statement.
func (b *Block) checkNames(known map[string]bool) error {
	for i, s := range b.Stmts {
		for _, r := range b.Rares {
			if r.From == i && !known[r.Mask] {
				return fmt.Errorf("%s is not defined", r.Mask)
			}
		}
		if err := s.Expr.checkNames(known); err != nil {
			return err
		}
		known[s.Name] = true
	}
	return nil
}

func (e *Expr) checkNames(known map[string]bool) error {
	if e.Kind == ExprName && !known[e.Name] {
		return fmt.Errorf("%s is not defined", e.Name)
	}
	for _, a := range e.Args {
		if err := a.checkNames(known); err != nil {
			return err
		}
	}
	return nil
}

// checkCalls returns an error for the first call of a gradient text that is
// neither an operator nor a built-in row. Built-in rows are checked by a test
// instead: they may call rows that are registered after them.
func (e *Expr) checkCalls() error {
	if e.Kind == ExprCall {
		name := e.Name
		if r, ok := operatorRows[name]; ok {
			name = r
		}
		if Lookup(name) == nil {
			return fmt.Errorf("%s is neither an operator nor a row", e.Name)
		}
	}
	for _, a := range e.Args {
		if err := a.checkCalls(); err != nil {
			return err
		}
	}
	return nil
}

// bodyNames are the names that a body may use.
func (r *Row) bodyNames() map[string]bool {
	known := map[string]bool{}
	for _, o := range r.Operands {
		known[o.Name] = true
	}
	for _, a := range r.Attrs {
		known[a.Name] = true
	}
	return known
}

// gradNames are the names that a gradient text may use.
func (r *Row) gradNames() map[string]bool {
	known := r.bodyNames()
	known["dy"] = true
	for i := 0; i < r.NumResults(); i++ {
		known[r.ResultName(i)], known["d"+r.ResultName(i)] = true, true
	}
	return known
}

// checkTexts checks the names in the texts of a row: a misspelt one would train
// on zeros.
func (r *Row) checkTexts() error {
	for t, b := range r.programs {
		if err := b.checkNames(r.bodyNames()); err != nil {
			return fmt.Errorf("body for %s: %w", t, err)
		}
		last := map[string]bool{}
		for _, s := range b.Stmts {
			last[s.Name] = true
		}
		for i := 0; i < r.NumResults(); i++ {
			if !last[r.ResultName(i)] {
				return fmt.Errorf("body for %s: it does not define %s", t, r.ResultName(i))
			}
		}
	}
	for operand, b := range r.grads {
		if !r.hasOperand(operand) {
			return fmt.Errorf("gradient of %s: there is no such operand", operand)
		}
		if err := b.checkNames(r.gradNames()); err != nil {
			return fmt.Errorf("gradient of %s: %w", operand, err)
		}
	}
	return nil
}

func (r *Row) hasOperand(name string) bool {
	for _, o := range r.Operands {
		if o.Name == name {
			return true
		}
	}
	return false
}
