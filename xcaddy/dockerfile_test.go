package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDockerfileBuildsWithTheGoVersionOfTheModule(t *testing.T) {
	assert.Equal(t,
		firstMatch(t, "../go.mod", `(?m)^go (\S+)$`),
		firstMatch(t, "Dockerfile", `(?m)^FROM golang:(\S+) AS build$`))
}

func TestDockerfileRunsAsTheUserOfTheDeployment(t *testing.T) {
	assert.Equal(t, "65532", firstMatch(t, "Dockerfile", `(?m)^USER (\d+):\d+$`))
	assert.Equal(t, int64(65532), *readDeployment(t, cluster).Spec.Template.Spec.SecurityContext.RunAsUser)
}

func firstMatch(tb testing.TB, path, pattern string) string {
	tb.Helper()
	content, err := os.ReadFile(path)
	require.NoError(tb, err)
	match := regexp.MustCompile(pattern).FindSubmatch(content)
	require.NotNil(tb, match, "%s: no line %s", path, pattern)
	return string(match[1])
}
