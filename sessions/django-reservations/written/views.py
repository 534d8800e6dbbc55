from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from core.errors import NotFound, RuleBroken
from hours.services import closed_reason
from reservations import services
from reservations.forms import WhenForm, WhoForm


def book(request):
    """Step one by GET (day and party), step two by POST (a time and who comes)."""
    if request.method == "POST":
        return take_booking(request)
    when = WhenForm(request.GET or None)
    if not when.is_valid():
        return render(request, "reservations/when.html", {"form": when})
    return offer(request, WhoForm(initial=when.cleaned_data), **when.cleaned_data)


def offer(request, form, day, party):
    moments = services.offered(day, party)
    form.offer(moments)
    facts = {"form": form, "day": day, "party": party, "moments": moments, "reason": closed_reason(day)}
    return render(request, "reservations/who.html", facts)


def take_booking(request):
    form = WhoForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        try:
            made = services.book(form.begin, given["party"], given["name"], given["phone"], given["note"])
        except RuleBroken as broken:
            form.add_error(None, str(broken))
        else:
            return redirect(made)
    when = WhenForm(request.POST)
    if not when.is_valid():
        return render(request, "reservations/when.html", {"form": when})
    return offer(request, form, **when.cleaned_data)


def booking(request, token):
    found = find_or_404(token)
    facts = {"booking": found, "can_cancel": services.can_cancel(found)}
    return render(request, "reservations/booking.html", facts)


@require_POST
def cancel(request, token):
    found = find_or_404(token)
    try:
        services.cancel(found)
    except RuleBroken as broken:
        messages.error(request, str(broken))
    else:
        messages.success(request, "Your booking is cancelled. Another time!")
    return redirect(found)


def find_or_404(token):
    try:
        return services.find(token)
    except NotFound as missing:
        raise Http404(str(missing)) from missing
