package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	kubecel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

// environmentFor declares what the plugin's compiler declares in the environment that it keeps to itself, and
// remembers in an AST which macros were called.
func environmentFor(base *environment.EnvSet, mutating bool) (*cel.Env, error) {
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	options := []cel.EnvOption{
		cel.EnableMacroCallTracking(),
		cel.Variable(plugincel.ObjectVarName, cel.DynType),
		cel.Variable(plugincel.OldObjectVarName, cel.DynType),
		cel.Variable(plugincel.ParamsVarName, cel.DynType),
		cel.Variable(plugincel.RequestVarName, request.CelType()),
		cel.Variable(plugincel.NamespaceVarName, namespace.CelType()),
	}
	if mutating {
		options = append(options, library.JSONPatch(), common.ResolverEnvOption(&mutation.DynamicTypeResolver{}))
	}
	extended, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        options,
		DeclTypes:         []*kubecel.DeclType{request, namespace},
	})
	if err != nil {
		return nil, err
	}
	return extended.Env(environment.StoredExpressions)
}

// function is one line of the list of everything that an expression can call.
type function struct {
	Overload string   `json:"overload,omitempty"`
	Macro    string   `json:"macro,omitempty"`
	Function string   `json:"function,omitempty"`
	Member   bool     `json:"member,omitempty"`
	Args     []string `json:"args,omitempty"`
	Result   string   `json:"result,omitempty"`
	Mutating bool     `json:"mutating,omitempty"`
}

func printFunctions(output io.Writer, oracle *oracle) error {
	var all []function
	for name, declared := range oracle.mutating.Functions() {
		// Old names, which run and can no longer be written.
		if declared.IsDeclarationDisabled() {
			continue
		}
		for _, overload := range declared.OverloadDecls() {
			described := describe(name, overload)
			described.Mutating = !oracle.plain.HasFunction(name)
			if !strings.Contains(strings.Join(append(described.Args, described.Result), " "), "kubernetes.authorization") {
				all = append(all, described)
			}
		}
	}
	for _, macro := range oracle.mutating.Macros() {
		all = append(all, function{Macro: macro.MacroKey(), Function: macro.Function(), Member: macro.IsReceiverStyle()})
	}
	slices.SortFunc(all, func(a, b function) int {
		return strings.Compare(a.Function+" "+a.Overload+a.Macro, b.Function+" "+b.Overload+b.Macro)
	})
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for _, each := range all {
		if err := encoder.Encode(each); err != nil {
			return err
		}
	}
	return nil
}

func describe(name string, overload *decls.OverloadDecl) function {
	described := function{
		Overload: overload.ID(), Function: name, Member: overload.IsMemberFunction(),
		Result: overload.ResultType().String(),
	}
	for _, argument := range overload.ArgTypes() {
		described.Args = append(described.Args, argument.String())
	}
	return described
}

// usesOf names the overloads that the checker chose, and the macros. Where arguments are dyn it cannot choose;
// those overloads that remain possible do not count as used.
func usesOf(env *cel.Env, text string) []string {
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil
	}
	seen := map[string]bool{}
	native := checked.NativeRep()
	for _, reference := range native.ReferenceMap() {
		if len(reference.OverloadIDs) == 1 {
			seen[reference.OverloadIDs[0]] = true
		}
	}
	for _, call := range native.SourceInfo().MacroCalls() {
		if call.Kind() == ast.CallKind {
			seen[macroKey(env, call.AsCall())] = true
		}
	}
	delete(seen, "")
	uses := make([]string, 0, len(seen))
	for name := range seen {
		uses = append(uses, name)
	}
	slices.Sort(uses)
	return uses
}

func macroKey(env *cel.Env, call ast.CallExpr) string {
	for _, macro := range env.Macros() {
		if macro.Function() == call.FunctionName() && macro.IsReceiverStyle() == call.IsMemberFunction() &&
			macro.ArgCount() == len(call.Args()) {
			return macro.MacroKey()
		}
	}
	return ""
}
