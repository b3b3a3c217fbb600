"""The Django REST application whose errors are in ../backend-errors/django-rest-framework.json, as in production (DEBUG off).

pip install django djangorestframework && python django_application.py runserver --noreload PORT
"""

import sys

from django.conf import settings

settings.configure(
    DEBUG=False,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="only-for-this-recording",
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["rest_framework"],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_PERMISSION_CLASSES": [],
        "UNAUTHENTICATED_USER": None,
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    },
)

import django  # noqa: E402

django.setup()

from django.core.management import execute_from_command_line  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework import serializers  # noqa: E402
from rest_framework.exceptions import NotFound  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


class Address(serializers.Serializer):
    city = serializers.CharField()


class Customer(serializers.Serializer):
    name = serializers.CharField()
    email = serializers.EmailField()
    group_size = serializers.IntegerField(min_value=1)
    addresses = Address(many=True, required=False)
    starts_on = serializers.DateField(required=False)
    ends_on = serializers.DateField(required=False)

    def validate(self, attrs):
        if "starts_on" in attrs and "ends_on" in attrs and attrs["ends_on"] < attrs["starts_on"]:
            raise serializers.ValidationError("The end is before the beginning.")
        return attrs


class Customers(APIView):
    def post(self, request):
        serializer = Customer(data=request.data)
        serializer.is_valid(raise_exception=True)
        return Response(serializer.validated_data, 201)


class One(APIView):
    def get(self, request, id):
        raise NotFound()


class Fault(APIView):
    def get(self, request):
        raise RuntimeError("the password of the database is hunter2")


urlpatterns = [
    path("customers", Customers.as_view()),
    path("customers/<int:id>", One.as_view()),
    path("fault", Fault.as_view()),
]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
