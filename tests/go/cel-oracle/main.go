// cel-oracle says what Kubernetes' own CEL makes of an expression, so that another implementation can be
// compared with it. It reads JSON lines and writes one JSON line for each:
//
//	{"id":"a","expr":"object.spec.replicas * 2","object":{"spec":{"replicas":3}}}
//	{"id":"a","type":"int","value":6,"cost":4}
//
// Besides id, expr and object a line may have oldObject, params, request, namespaceObject, and "mutating":true
// for the functions and types that only a MutatingAdmissionPolicy has. An answer without a value has an
// error and the stage that gave it: parse, check or evaluate; input and encode are faults of a line or of ours.
//
//	--time       also prints "ns", nanoseconds for one evaluation of the prepared program
//	--uses       also prints "uses", the overloads and macros of the expression
//	--functions  reads nothing and prints every overload and macro there is, one JSON line each
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	timed := flag.Bool("time", false, "print nanoseconds per evaluation")
	uses := flag.Bool("uses", false, "print the overloads and macros that each expression uses")
	functions := flag.Bool("functions", false, "print all overloads and macros and end")
	flag.Parse()

	oracle, err := newOracle()
	if err == nil {
		output := bufio.NewWriter(os.Stdout)
		if *functions {
			err = printFunctions(output, oracle)
		} else {
			err = answerAll(os.Stdin, output, oracle, *timed, *uses)
		}
		if flushed := output.Flush(); err == nil {
			err = flushed
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func answerAll(input io.Reader, output *bufio.Writer, oracle *oracle, timed, uses bool) error {
	lines := bufio.NewReaderSize(input, 1<<20)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(oracle.answer(line, timed, uses)); err != nil {
				return err
			}
			// Whoever talks to us line by line waits for this one; whoever sends many has sent the next already.
			if lines.Buffered() == 0 {
				if err := output.Flush(); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
