//! Plays the scenario with the client that openapi-generator makes for Rust.
use client::apis::{configuration::Configuration, customers_api as customers, Error};
use client::models::{CustomerCreate, Problem};

fn open(key: &str) -> Configuration {
    Configuration {
        base_path: std::env::var("API_URL").unwrap(),
        bearer_access_token: Some(std::env::var(key).unwrap()),
        ..Configuration::new()
    }
}

fn problem<T>(error: Error<T>) -> Problem {
    match error {
        Error::ResponseError(response) => serde_json::from_str(&response.content).unwrap(),
        _ => panic!("It was not refused by the API."),
    }
}

async fn create(api: &Configuration, email: &str, birth_date: &str) -> Result<(), Problem> {
    let mut body = CustomerCreate::new("Anna".into(), "Huber".into(), email.into());
    body.birth_date = Some(Some(birth_date.parse().unwrap()));
    customers::create_customer(api, body, None).await.map(|_| ()).map_err(problem)
}

#[tokio::main]
async fn main() {
    let api = open("SCENARIO_KEY");
    let mut created = 0;
    for i in 0..3 {
        create(&api, &format!("rust-{i}@example.com"), "1990-04-23").await.unwrap();
        created += 1;
    }
    let conflict = create(&api, "rust-0@example.com", "1990-04-23").await.unwrap_err();
    let invalid = create(&api, "rust-9@example.com", "2999-01-01").await.unwrap_err();
    let (mut walked, mut cursor) = (0, None::<String>);
    loop {
        let page = customers::list_customers(&api, Some(2), cursor.as_deref(), None, None, None, None, None, None);
        let page = page.await.unwrap();
        walked += page.data.len();
        if !page.has_more {
            break;
        }
        cursor = page.next_cursor;
    }
    let few = open("LIMITED_KEY");
    let list = || customers::list_customers(&few, None, None, None, None, None, None, None, None);
    list().await.unwrap();
    let limited = problem(list().await.unwrap_err());
    let pointer = invalid.errors.unwrap().remove(0).pointer;
    let done = serde_json::json!({
        "created": created, "walked": walked, "conflict": conflict.code, "reason": conflict.reason,
        "invalid": invalid.code, "pointer": pointer, "limited": limited.code,
    });
    println!("{done}");
}
