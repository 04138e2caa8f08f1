package calc

import (
	"encoding/json"
	"net/http"
)

func Add(a, b int) int {
	return a + b
}

func Biggest(values []int) int {
	best := values[0]
	for _, value := range values {
		if value > best {
			best = value
		}
	}
	return best
}

func Handler(w http.ResponseWriter, r *http.Request) {
	json.NewEncoder(w).Encode(Add(1, 2))
}
