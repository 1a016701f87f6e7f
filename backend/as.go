package backend

// Decorator is a backend made of others. It says by As which optional
// capabilities it offers: those that its inner backend has and that it can carry
// through. Its own methods beyond [Backend] say nothing, so one type serves for
// every set of capabilities.
type Decorator interface {
	Backend

	// As sets target, a pointer to a variable of a capability's interface type,
	// and returns true if the backend offers that capability. A type that it does
	// not know is one that it does not offer.
	As(target any) bool
}

// As returns a capability of a backend, such as [Compiler], and whether it has
// it. Capabilities are asked for here and nowhere else: a type assertion on a
// decorator would find what its inner backend lacks.
func As[T any](b Backend) (T, bool) {
	var t T
	if d, ok := b.(Decorator); ok {
		ok = d.As(&t)
		return t, ok
	}
	t, ok := any(b).(T)
	return t, ok
}

// Pass sets target to a capability that b has, as wrap makes it, and reports whether
// b has it: what a decorator answers to [Decorator.As] for what it carries through.
// A nil wrap passes the capability on as it is.
func Pass[T any](target *T, b Backend, wrap func(T) T) bool {
	t, ok := As[T](b)
	if ok && wrap != nil {
		t = wrap(t)
	}
	if ok {
		*target = t
	}
	return ok
}
