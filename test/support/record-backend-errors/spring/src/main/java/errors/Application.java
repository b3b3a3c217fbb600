package errors;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Email;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/**
 * The Spring Boot application whose errors are in ../backend-errors/spring-boot.json and, with --spring.mvc.problemdetails.enabled=true,
 * in spring-problem-detail.json. See README.md in the folder of the recorders.
 */
@SpringBootApplication
@RestController
public class Application {
  record Address(@NotBlank String city) {}

  record Customer(@NotBlank String name, @Email String email, @Min(1) int groupSize, @Valid List<Address> addresses) {}

  public static void main(String[] arguments) {
    SpringApplication.run(Application.class, arguments);
  }

  @PostMapping("/customers")
  Customer create(@Valid @RequestBody Customer customer) {
    return customer;
  }

  @GetMapping("/customers")
  int list(@RequestParam @Min(1) int limit) {
    return limit;
  }

  @GetMapping("/customers/{id}")
  Customer get(@PathVariable int id) {
    throw new ResponseStatusException(HttpStatus.NOT_FOUND, "No customer " + id);
  }

  @GetMapping("/fault")
  int fault() {
    throw new IllegalStateException("the password of the database is hunter2");
  }
}
