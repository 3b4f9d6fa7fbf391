package command

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Documents that are damaged in any way have no place outside of themselves, and
// whatever an error says is found in them or not.
func TestEveryProblemHasALineOfTheDocument(t *testing.T) {
	documents := []string{
		"version: 1\napps:\n- name: a\n  hostnames: [b, 'c']\n  secretRef: {name: a}\n  anyOf:\n  - basic: {}\n",
		"{\"version\": 1,\n\"apps\": [{\"name\": \"a\",\n\"hostnames\": [\"b\"], \"anyOf\": [{\"jwt\": {}}]}]}",
		"a: |\n  b\n---\nc: &x [1]\nd: *x\n",
	}
	errs := []string{
		`apps[0]: hostnames: "b" is no hostname`, `apps[0]: duplicate field "name"`, `secret a/b: key "c": does not exist; name another in anyOf[0]`,
		`secret a/b: jwt: is nothing`, `x[99999999999999999999]: y`, `: `, `unknown field ""`, ``,
	}
	const damage = "\n\t \"'{}[]:,-&*|>#a1\x00\xff"
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 5_000 {
		text := []byte(documents[random.IntN(len(documents))])
		for range random.IntN(4) {
			text[random.IntN(len(text))] = damage[random.IntN(len(damage))]
		}
		isJSON := random.IntN(2) == 0
		root := placeIn(text, isJSON)
		if root == nil {
			continue
		}
		found++
		last := 1 + bytes.Count(text, []byte{'\n'})
		for _, words := range errs {
			if line := root.blameEither(words).line; line < 0 || line > last {
				assert.Failf(t, "no such line", "%d of %q for %q", line, text, words)
			}
		}
	}
	assert.Greater(t, found, 500)
}
