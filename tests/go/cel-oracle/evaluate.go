package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// A question is one line of input.
type question struct {
	ID              json.RawMessage `json:"id"`
	Expr            string          `json:"expr"`
	Object          json.RawMessage `json:"object"`
	OldObject       json.RawMessage `json:"oldObject"`
	Params          json.RawMessage `json:"params"`
	Request         json.RawMessage `json:"request"`
	NamespaceObject json.RawMessage `json:"namespaceObject"`
	Mutating        bool            `json:"mutating"`
}

// An answer is one line of output.
type answer struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Type  string          `json:"type,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Stage string          `json:"stage,omitempty"`
	Error string          `json:"error,omitempty"`
	Cost  *uint64         `json:"cost,omitempty"`
	// Varies names what was not the same each time, and is therefore left out: Go walks maps in another order
	// every time.
	Varies []string `json:"varies,omitempty"`
	Uses   []string `json:"uses,omitempty"`
	NS     float64  `json:"ns,omitempty"`
}

type oracle struct {
	compiler plugincel.Compiler
	// What the compiler hides: an environment with the same macros and functions.
	plain, mutating *cel.Env
}

func newOracle() (*oracle, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	plain, err := environmentFor(base, false)
	if err != nil {
		return nil, err
	}
	mutating, err := environmentFor(base, true)
	return &oracle{compiler: plugincel.NewCompiler(base), plain: plain, mutating: mutating}, err
}

// expression is what the compiler wants to know of an expression: its text, and that any type will do.
type expression string

func (e expression) GetExpression() string    { return string(e) }
func (e expression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

func (o *oracle) answer(line []byte, timed, uses bool) (result answer) {
	var asked question
	stage := "input"
	// A panic in a library is an answer too, and no reason to lose those that follow.
	defer func() {
		if cause := recover(); cause != nil {
			result = answer{ID: asked.ID, Stage: stage, Error: fmt.Sprintf("panic: %v", cause)}
		}
	}()
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Stage: stage, Error: err.Error()}
	}
	failed := func(err error) answer { return answer{ID: asked.ID, Stage: stage, Error: err.Error()} }
	variables, err := activation(&asked)
	if err != nil {
		return failed(err)
	}

	stage = "parse"
	env := o.plain
	if asked.Mutating {
		env = o.mutating
	}
	if _, issues := env.Parse(asked.Expr); issues.Err() != nil {
		return failed(issues.Err())
	}
	stage = "check"
	declared := plugincel.OptionalVariableDeclarations{HasParams: true, HasPatchTypes: asked.Mutating}
	compiled := o.compiler.CompileCELExpression(expression(asked.Expr), declared, environment.StoredExpressions)
	if compiled.Error != nil {
		return failed(compiled.Error)
	}
	stage = "evaluate"
	result = evaluate(compiled.Program, variables)
	for range repetitions(env, asked.Expr, result) {
		result.compare(evaluate(compiled.Program, variables))
	}
	result.forgetWhatVaries()
	result.ID = asked.ID
	if uses {
		result.Uses = usesOf(env, asked.Expr)
	}
	if timed {
		result.NS = nanoseconds(compiled.Program, variables)
	}
	return result
}

// evaluate runs a program once.
func evaluate(program cel.Program, variables interpreter.Activation) (result answer) {
	value, details, err := program.ContextEval(context.Background(), variables)
	if details != nil {
		result.Cost = details.ActualCost()
	}
	if err != nil {
		result.Stage, result.Error = "evaluate", err.Error()
	} else if result.Type, result.Value, err = encode(value); err != nil {
		// Ours to mend, and not to be taken for an error of the expression.
		result = answer{Stage: "encode", Error: err.Error()}
	}
	return result
}

// repetitions says how often an evaluation is repeated to see whether it varies. Only a comprehension walks a
// map, and it begins with the second of two entries once in eight times.
func repetitions(env *cel.Env, text string, first answer) int {
	parsed, _ := env.Parse(text)
	walks := false
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(each ast.Expr) {
		walks = walks || each.Kind() == ast.ComprehensionKind
	}))
	switch {
	case !walks:
		return 1
	case first.Cost != nil && *first.Cost > 10_000:
		return 5
	}
	return 100
}

func (a *answer) compare(other answer) {
	note := func(name string, same bool) {
		if !same && !slices.Contains(a.Varies, name) {
			a.Varies = append(a.Varies, name)
		}
	}
	note("value", a.Stage == other.Stage && a.Type == other.Type && string(a.Value) == string(other.Value))
	note("error", a.Error == other.Error)
	note("cost", reflect.DeepEqual(a.Cost, other.Cost))
}

// forgetWhatVaries keeps chance out of what is recorded.
func (a *answer) forgetWhatVaries() {
	slices.Sort(a.Varies)
	for _, name := range a.Varies {
		switch name {
		case "value":
			a.Value, a.Type = nil, ""
		case "error":
			a.Error, a.Stage = "", ""
		case "cost":
			a.Cost = nil
		}
	}
}

// nanoseconds evaluates in growing rounds until one takes long enough to divide, and takes the best of
// several, because what slows a round down is never the program.
func nanoseconds(program cel.Program, variables interpreter.Activation) float64 {
	var out ref.Val
	round := func(count int) time.Duration {
		started := time.Now()
		for range count {
			out, _, _ = program.ContextEval(context.Background(), variables)
		}
		return time.Since(started)
	}
	count := 1
	for round(count) < 2*time.Millisecond && count < 1<<20 {
		count *= 2
	}
	best := round(count)
	for range 4 {
		best = min(best, round(count))
	}
	runtime.KeepAlive(out)
	return float64(best.Nanoseconds()) / float64(count)
}

// inputs are the variables of an admission policy, bound as the API server binds them: objects without a
// schema, as maps.
type inputs map[string]any

func (i inputs) ResolveName(name string) (any, bool) {
	value, known := i[name]
	return value, known
}

func (i inputs) Parent() interpreter.Activation { return nil }

func activation(asked *question) (inputs, error) {
	variables := inputs{}
	for name, text := range map[string]json.RawMessage{
		plugincel.ObjectVarName: asked.Object, plugincel.OldObjectVarName: asked.OldObject,
		plugincel.ParamsVarName: asked.Params,
	} {
		var value any
		if len(text) > 0 {
			// As the API server reads JSON: a number without fraction is an int64.
			if err := kubejson.Unmarshal(text, &value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		variables[name] = value
	}
	var request *admissionv1.AdmissionRequest
	var namespace *corev1.Namespace
	err := errors.Join(decode(asked.Request, &request), decode(asked.NamespaceObject, &namespace))
	if err != nil {
		return nil, err
	}
	// Through their Go types, because that decides which fields are there when the input leaves them out.
	if variables[plugincel.RequestVarName], err = unstructured(request); err != nil {
		return nil, err
	}
	namespace = plugincel.CreateNamespaceObject(namespace)
	variables[plugincel.NamespaceVarName], err = unstructured(namespace)
	return variables, err
}

func decode[T any](text json.RawMessage, into **T) error {
	if len(text) == 0 {
		return nil
	}
	return kubejson.Unmarshal(text, into)
}

func unstructured[T any](object *T) (any, error) {
	if object == nil {
		return nil, nil
	}
	return kuberuntime.DefaultUnstructuredConverter.ToUnstructured(object)
}
