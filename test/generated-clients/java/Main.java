import com.fasterxml.jackson.databind.ObjectMapper;
import gen.ApiClient;
import gen.ApiException;
import gen.api.CustomersApi;
import gen.model.CustomerCreate;
import gen.model.CustomerList;
import gen.model.Problem;
import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.Map;

/** Plays the scenario with the client that openapi-generator makes for Java. */
public class Main {
  static final ObjectMapper JSON = ApiClient.createDefaultObjectMapper();

  static CustomersApi open(String key) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("API_URL"));
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    return new CustomersApi(client);
  }

  interface Call {
    void run() throws ApiException;
  }

  static Problem problemOf(Call call) throws Exception {
    try {
      call.run();
    } catch (ApiException refused) {
      return JSON.readValue(refused.getResponseBody(), Problem.class);
    }
    throw new AssertionError("It was not refused.");
  }

  static void create(CustomersApi customers, String email, int year) throws ApiException {
    CustomerCreate customer = new CustomerCreate().firstName("Anna").lastName("Huber").email(email);
    customers.createCustomer(customer.birthDate(LocalDate.of(year, 4, 23)), null);
  }

  public static void main(String[] args) throws Exception {
    CustomersApi customers = open(System.getenv("SCENARIO_KEY"));
    int created = 0;
    for (; created < 3; created++) create(customers, "java-" + created + "@example.com", 1990);
    Problem conflict = problemOf(() -> create(customers, "java-0@example.com", 1990));
    Problem invalid = problemOf(() -> create(customers, "java-9@example.com", 2999));
    int walked = 0;
    CustomerList page = customers.listCustomers(2, null, null, null, null, null, null, null);
    for (; ; page = customers.listCustomers(2, page.getNextCursor(), null, null, null, null, null, null)) {
      walked += page.getData().size();
      if (!page.getHasMore()) break;
    }
    CustomersApi few = open(System.getenv("LIMITED_KEY"));
    few.listCustomers(null, null, null, null, null, null, null, null);
    Problem limited = problemOf(() -> few.listCustomers(null, null, null, null, null, null, null, null));
    Map<String, Object> done = new LinkedHashMap<>();
    done.put("created", created);
    done.put("walked", walked);
    done.put("conflict", conflict.getCode());
    done.put("reason", conflict.getReason());
    done.put("invalid", invalid.getCode());
    done.put("pointer", invalid.getErrors().get(0).getPointer());
    done.put("limited", limited.getCode());
    System.out.println(JSON.writeValueAsString(done));
  }
}
