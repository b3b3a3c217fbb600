// Plays the scenario with the client that oapi-codegen makes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"gen/oapi/api"

	"github.com/oapi-codegen/runtime/types"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func open(key string) *api.ClientWithResponses {
	bearer := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	return must(api.NewClientWithResponses(os.Getenv("API_URL"), api.WithRequestEditorFn(bearer)))
}

func main() {
	ctx := context.Background()
	customers := open(os.Getenv("SCENARIO_KEY"))
	create := func(email string, year int) *api.CreateCustomerResponse {
		born := types.Date{Time: time.Date(year, 4, 23, 0, 0, 0, 0, time.UTC)}
		body := api.CustomerCreate{FirstName: "Anna", LastName: "Huber", Email: email, BirthDate: &born}
		return must(customers.CreateCustomerWithResponse(ctx, &api.CreateCustomerParams{}, body))
	}
	created := 0
	for i := 0; i < 3; i++ {
		if create(fmt.Sprintf("oapi-%d@example.com", i), 1990).JSON201 != nil {
			created++
		}
	}
	conflict := create("oapi-0@example.com", 1990).ApplicationproblemJSON409
	invalid := create("oapi-9@example.com", 2999).ApplicationproblemJSON422
	walked, limit := 0, int32(2)
	for params := (&api.ListCustomersParams{Limit: &limit}); ; {
		page := must(customers.ListCustomersWithResponse(ctx, params)).JSON200
		walked += len(page.Data)
		if !page.HasMore {
			break
		}
		params.Cursor = page.NextCursor
	}
	limited := open(os.Getenv("LIMITED_KEY"))
	must(limited.ListCustomersWithResponse(ctx, &api.ListCustomersParams{}))
	refused := must(limited.ListCustomersWithResponse(ctx, &api.ListCustomersParams{})).ApplicationproblemJSON429
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created": created, "walked": walked, "conflict": conflict.Code, "reason": conflict.Reason,
		"invalid": invalid.Code, "pointer": (*invalid.Errors)[0].Pointer, "limited": refused.Code,
	})
}
