// Plays the scenario with the client that openapi-generator makes for Go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	client "github.com/gen/client"
)

func api(key string) (*client.CustomersAPIService, context.Context) {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("API_URL")}}
	return client.NewAPIClient(configuration).CustomersAPI, context.WithValue(context.Background(), client.ContextAccessToken, key)
}

func problem(err error) client.Problem {
	var failed *client.GenericOpenAPIError
	if !errors.As(err, &failed) {
		panic(err)
	}
	return failed.Model().(client.Problem)
}

func main() {
	customers, ctx := api(os.Getenv("SCENARIO_KEY"))
	create := func(email string, birthDate string) error {
		customer := client.NewCustomerCreate("Anna", "Huber", email)
		customer.SetBirthDate(birthDate)
		_, _, err := customers.CreateCustomer(ctx).CustomerCreate(*customer).Execute()
		return err
	}
	created := 0
	for i := 0; i < 3; i++ {
		if err := create(fmt.Sprintf("go-%d@example.com", i), "1990-04-23"); err != nil {
			panic(problem(err))
		}
		created++
	}
	conflict, invalid := problem(create("go-0@example.com", "1990-04-23")), problem(create("go-9@example.com", "2999-01-01"))
	walked := 0
	for request := customers.ListCustomers(ctx).Limit(2); ; {
		page, _, err := request.Execute()
		if err != nil {
			panic(err)
		}
		walked += len(page.Data)
		if !page.HasMore {
			break
		}
		request = customers.ListCustomers(ctx).Limit(2).Cursor(*page.NextCursor.Get())
	}
	limited, few := api(os.Getenv("LIMITED_KEY"))
	limited.ListCustomers(few).Execute()
	_, _, refused := limited.ListCustomers(few).Execute()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created": created, "walked": walked, "conflict": conflict.Code, "reason": conflict.Reason,
		"invalid": invalid.Code, "pointer": invalid.Errors[0].Pointer, "limited": problem(refused).Code,
	})
}
