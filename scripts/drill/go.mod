module github.com/edgelimit/edgelimit/scripts/drill

go 1.26.0
