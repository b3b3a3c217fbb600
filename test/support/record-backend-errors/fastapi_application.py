"""The FastAPI application whose errors are in ../backend-errors/fastapi.json.

pip install fastapi uvicorn && uvicorn fastapi_application:app --port PORT
"""

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

app = FastAPI()


class Address(BaseModel):
    city: str


class Customer(BaseModel):
    name: str = Field(min_length=1)
    email: str = Field(pattern="^[^@]+@[^@]+$")
    group_size: int = Field(gt=0)
    addresses: list[Address] = []


@app.post("/customers")
def create(customer: Customer, notify: bool = False) -> Customer:
    return customer


@app.get("/customers/{id}")
def get(id: int) -> Customer:
    raise HTTPException(404, "Customer not found")


@app.get("/fault")
def fault() -> None:
    raise RuntimeError("the password of the database is hunter2")
