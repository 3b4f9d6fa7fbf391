package main

import (
	"fmt"
	"os"
	"path/filepath"
)

type manifest struct {
	path    string
	content []byte
}

// readManifests reads the files, and all *.yaml in the directories by name.
func readManifests(paths []string) ([]manifest, error) {
	var manifests []manifest
	for _, path := range paths {
		files, err := manifestFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("manifest: %w", err)
			}
			manifests = append(manifests, manifest{path: file, content: content})
		}
	}
	return manifests, nil
}

func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := filepath.Glob(filepath.Join(path, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("manifest directory %s: %w", path, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("manifest directory %s: no *.yaml in it", path)
	}
	return files, nil
}
