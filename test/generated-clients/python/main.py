"""What an integrator writes with the package that openapi-python-client generates: a module for each operation, a class for each schema."""

import datetime
import json
import os

from generated_python.admin.api.accounts import create_account
from generated_python.admin.api.api_keys import create_api_key, list_api_keys
from generated_python.admin.client import AuthenticatedClient as AdminClient
from generated_python.admin.models import (
    Account,
    ApiKeyList,
    ApiKeyWithSecret,
    CreateAccount,
    CreateApiKey,
)
from generated_python.admin.models import Problem as AdminProblem
from generated_python.public.api.customers import (
    create_customer,
    delete_customer,
    get_customer,
    list_customers,
    update_customer,
)
from generated_python.public.api.usage import get_usage
from generated_python.public.client import AuthenticatedClient
from generated_python.public.models import (
    Customer,
    CustomerCreate,
    CustomerList,
    CustomerStatus,
    CustomerUpdate,
    Problem,
    Usage,
)

ADVICE = {"conflict": "use another"}


def customers() -> dict[str, object]:
    client = AuthenticatedClient(os.environ["API_URL"], os.environ["API_KEY"])
    body = CustomerCreate("Anna", "Huber", "openapi-python-client@example.com")
    created = create_customer.sync(client=client, body=body)
    assert isinstance(created, Customer)
    again = create_customer.sync(client=client, body=body)
    assert isinstance(again, Problem)
    listed = list_customers.sync(client=client, limit=1)
    assert isinstance(listed, CustomerList)
    change = CustomerUpdate(status=CustomerStatus.ACTIVE)
    updated = update_customer.sync(created.id, client=client, body=change)
    assert isinstance(updated, Customer)
    deleted = delete_customer.sync_detailed(created.id, client=client)
    missing = get_customer.sync(created.id, client=client)
    assert isinstance(missing, Problem)
    usage = get_usage.sync(client=client, group_by="outcome", limit=5)
    assert isinstance(usage, Usage)
    return {
        "created": created.status.value,
        "conflict": again.code,
        "reason": again.reason,
        "listed": len(listed.data),
        "updated": updated.status.value,
        "deleted": deleted.status_code.value,
        "missing": missing.code,
        "advice": ADVICE[again.code],
        "plan": usage.plan,
    }


def admin() -> dict[str, object]:
    client = AdminClient(os.environ["ADMIN_URL"], os.environ["ADMIN_TOKEN"])
    account = create_account.sync(client=client, body=CreateAccount("openapi-python-client", "starter"))
    assert isinstance(account, Account)
    key = create_api_key.sync(account.id, client=client, body=CreateApiKey("a", ["*"]))
    assert isinstance(key, ApiKeyWithSecret)
    keys = list_api_keys.sync(account.id, client=client, limit=1)
    assert isinstance(keys, ApiKeyList)
    wrong = create_account.sync(client=client, body=CreateAccount("", "starter"))
    assert isinstance(wrong, AdminProblem) and isinstance(wrong.errors, list)
    return {
        "zone": account.time_zone,
        "environment": key.environment.value,
        "keys": len(keys.data),
        "wrong": wrong.errors[0].pointer,
    }


def scenario() -> dict[str, object]:
    """What each of the generated clients does."""
    client = AuthenticatedClient(os.environ["API_URL"], os.environ["SCENARIO_KEY"])

    def create(email: str, year: int) -> object:
        body = CustomerCreate("Anna", "Huber", email, birth_date=datetime.date(year, 4, 23))
        return create_customer.sync(client=client, body=body)

    created = [create(f"python-{at}@example.com", 1990) for at in range(3)]
    conflict = create("python-0@example.com", 1990)
    invalid = create("python-9@example.com", 2999)
    assert isinstance(conflict, Problem) and isinstance(invalid, Problem) and isinstance(invalid.errors, list)
    walked = 0
    page = list_customers.sync(client=client, limit=2)
    while isinstance(page, CustomerList):
        walked += len(page.data)
        if not page.has_more or page.next_cursor is None:
            break
        page = list_customers.sync(client=client, limit=2, cursor=page.next_cursor)
    few = AuthenticatedClient(os.environ["API_URL"], os.environ["LIMITED_KEY"])
    list_customers.sync(client=few)
    limited = list_customers.sync(client=few)
    assert isinstance(limited, Problem)
    return {
        "created": sum(isinstance(customer, Customer) for customer in created),
        "walked": walked,
        "conflict": conflict.code,
        "reason": conflict.reason,
        "invalid": invalid.code,
        "pointer": invalid.errors[0].pointer,
        "limited": limited.code,
    }


print(json.dumps({"customers": customers(), "admin": admin(), "scenario": scenario()}))
