package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	kubecel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
)

// encode gives the name of a value's type and the value as JSON:
//
//	int, uint              a number without fraction
//	double                 a number with fraction or exponent; "NaN", "Infinity", "-Infinity"
//	string, bool, null     themselves
//	bytes                  base64
//	duration, timestamp    "1.5s", "2026-01-02T03:04:05.6Z"
//	type                   its name
//	optional               [value] or []
//	list                   an array
//	map                    an object if all keys are strings, else {"@map":[[key,value],…]} in order of the keys' JSON
//	Kubernetes' own types  as they print
//	Object…, JSONPatch     an object of its fields
//
// What lies inside another value and is not an int, double, string, bool, null, list or map is wrapped with its
// type: {"@uint":1}. So every two values that differ have JSON that differs.
func encode(value ref.Val) (string, json.RawMessage, error) {
	name, text, err := encodeBare(value)
	return name, json.RawMessage(text), err
}

func encodeBare(value ref.Val) (string, string, error) {
	switch v := value.(type) {
	case types.Int:
		return "int", strconv.FormatInt(int64(v), 10), nil
	case types.Uint:
		return "uint", strconv.FormatUint(uint64(v), 10), nil
	case types.Double:
		return "double", double(float64(v)), nil
	case types.String:
		return "string", quoted(string(v)), nil
	case types.Bool:
		return "bool", strconv.FormatBool(bool(v)), nil
	case types.Bytes:
		text, err := json.Marshal([]byte(v))
		return "bytes", string(text), err
	case types.Null:
		return "null", "null", nil
	case types.Duration:
		return "duration", quoted(seconds(v.Duration)), nil
	case types.Timestamp:
		return "timestamp", quoted(v.Time.UTC().Format(time.RFC3339Nano)), nil
	case *types.Optional:
		if !v.HasValue() {
			return "optional", "[]", nil
		}
		text, err := encodeInside(v.GetValue())
		return "optional", "[" + text + "]", err
	case traits.Lister:
		text, err := list(v)
		return "list", text, err
	case *dynamic.ObjectVal:
		fields, ok := v.Value().(map[string]any)
		if !ok {
			return "", "", fmt.Errorf("the fields of %s cannot be read: %v", v.Type().TypeName(), v.Value())
		}
		text, err := dictionary(types.NewStringInterfaceMap(types.DefaultTypeAdapter, fields))
		return v.Type().TypeName(), text, err
	case *mutation.JSONPatchVal:
		text, err := patch(v)
		return "JSONPatch", text, err
	case kubecel.Quantity:
		return "kubernetes.Quantity", quoted(v.Quantity.String()), nil
	case *kubecel.Quantity: // what add and sub give
		return "kubernetes.Quantity", quoted(v.Quantity.String()), nil
	case kubecel.IP:
		return "net.IP", quoted(v.Addr.String()), nil
	case kubecel.CIDR:
		return "net.CIDR", quoted(v.Prefix.String()), nil
	case kubecel.URL:
		return "kubernetes.URL", quoted(v.URL.String()), nil
	case kubecel.Semver:
		return "kubernetes.Semver", quoted(v.Version.String()), nil
	case kubecel.Format:
		return "kubernetes.NamedFormat", quoted(v.Name), nil
	case traits.Mapper:
		text, err := dictionary(v)
		return "map", text, err
	case ref.Type:
		return "type", quoted(v.TypeName()), nil
	}
	return "", "", fmt.Errorf("no encoding for a value of type %s (%T)", value.Type().TypeName(), value)
}

func encodeInside(value ref.Val) (string, error) {
	name, text, err := encodeBare(value)
	if slices.Contains([]string{"int", "double", "string", "bool", "null", "list", "map"}, name) || err != nil {
		return text, err
	}
	return fmt.Sprintf("{%s:%s}", quoted("@"+name), text), nil
}

func patch(value *mutation.JSONPatchVal) (string, error) {
	fields := []string{`"op":` + quoted(value.Op), `"path":` + quoted(value.Path)}
	if value.From != "" {
		fields = append(fields, `"from":`+quoted(value.From))
	}
	if value.Val != nil {
		text, err := encodeInside(value.Val)
		if err != nil {
			return "", err
		}
		fields = append(fields, `"value":`+text)
	}
	slices.Sort(fields)
	return "{" + strings.Join(fields, ",") + "}", nil
}

func list(value traits.Lister) (string, error) {
	var elements []string
	for each := value.Iterator(); each.HasNext() == types.True; {
		text, err := encodeInside(each.Next())
		if err != nil {
			return "", err
		}
		elements = append(elements, text)
	}
	return "[" + strings.Join(elements, ",") + "]", nil
}

func dictionary(value traits.Mapper) (string, error) {
	type entry struct{ key, value string }
	var entries []entry
	plain := true
	for each := value.Iterator(); each.HasNext() == types.True; {
		key := each.Next()
		name, isString := key.(types.String)
		plain = plain && isString && !strings.HasPrefix(string(name), "@")
		keyText, err := encodeInside(key)
		if err != nil {
			return "", err
		}
		text, err := encodeInside(value.Get(key))
		if err != nil {
			return "", err
		}
		entries = append(entries, entry{keyText, text})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	texts := make([]string, len(entries))
	for index, each := range entries {
		if plain {
			texts[index] = each.key + ":" + each.value
		} else {
			texts[index] = "[" + each.key + "," + each.value + "]"
		}
	}
	if plain {
		return "{" + strings.Join(texts, ",") + "}", nil
	}
	return `{"@map":[` + strings.Join(texts, ",") + `]}`, nil
}

func double(value float64) string {
	switch {
	case math.IsNaN(value):
		return `"NaN"`
	case math.IsInf(value, 1):
		return `"Infinity"`
	case math.IsInf(value, -1):
		return `"-Infinity"`
	}
	text := strconv.FormatFloat(value, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// seconds is a duration as protocol buffers write it in JSON, without trailing zeros.
func seconds(value time.Duration) string {
	sign, nanoseconds := "", uint64(value)
	if value < 0 {
		sign, nanoseconds = "-", -uint64(value)
	}
	text := fmt.Sprintf("%s%d.%09d", sign, nanoseconds/1e9, nanoseconds%1e9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
}

func quoted(text string) string {
	var builder strings.Builder
	encoder := json.NewEncoder(&builder)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(builder.String(), "\n")
}
