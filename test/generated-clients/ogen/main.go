// Plays the scenario with the client that ogen makes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"gen/ogen/api"
)

type key string

func (k key) BearerAuth(context.Context, api.OperationName) (api.BearerAuth, error) {
	return api.BearerAuth{Token: string(k)}, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func open(secret string) *api.Client {
	return must(api.NewClient(os.Getenv("API_URL"), key(secret)))
}

func main() {
	ctx := context.Background()
	customers := open(os.Getenv("SCENARIO_KEY"))
	create := func(email string, year int) api.CreateCustomerRes {
		born := api.BirthDate(time.Date(year, 4, 23, 0, 0, 0, 0, time.UTC))
		body := &api.CustomerCreate{FirstName: "Anna", LastName: "Huber", Email: api.Email(email)}
		body.BirthDate = api.NewOptNilBirthDate(born)
		return must(customers.CreateCustomer(ctx, body, api.CreateCustomerParams{}))
	}
	created := 0
	for i := 0; i < 3; i++ {
		if _, ok := create(fmt.Sprintf("ogen-%d@example.com", i), 1990).(*api.CustomerHeaders); ok {
			created++
		}
	}
	conflict := create("ogen-0@example.com", 1990).(*api.CreateCustomerConflictHeaders).Response
	invalid := create("ogen-9@example.com", 2999).(*api.CreateCustomerUnprocessableEntityHeaders).Response
	walked := 0
	for params := (api.ListCustomersParams{Limit: api.NewOptInt32(2)}); ; {
		page := must(customers.ListCustomers(ctx, params)).(*api.CustomerListHeaders).Response
		walked += len(page.Data)
		if !page.HasMore {
			break
		}
		params.Cursor = api.NewOptString(page.NextCursor.Value)
	}
	limited := open(os.Getenv("LIMITED_KEY"))
	must(limited.ListCustomers(ctx, api.ListCustomersParams{}))
	refused := must(limited.ListCustomers(ctx, api.ListCustomersParams{})).(*api.TooManyRequestsHeaders).Response
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created": created, "walked": walked, "conflict": conflict.Code, "reason": conflict.Reason.Value,
		"invalid": invalid.Code, "pointer": invalid.Errors[0].Pointer.Value, "limited": refused.Code,
	})
}
