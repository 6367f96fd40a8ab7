"""What courses, check-in, cards and plans do: `python3 hidden/courses.py twice|registration|times|money`."""

from clinicplay import book, main, name_echo, name_registration, name_time, open_desk

PATIENT = ("F-0401", "Ines Falk", "555-0401")


def ask(desk, headers, again):
    body = {"patient": 1, "therapist": 1, "first": ("2025-09-01 09:30", "2025-09-02 11:30")[again], "times": 3}
    answer = desk.handle("POST", "/courses", body, badge="B-31", headers=headers)
    return answer, desk.db.execute("select count(*) from visits").fetchone()[0]


def twice():
    return name_echo(ask, 3)


def registration():
    desk = open_desk(PATIENT)
    visit = book(desk, "2025-09-01 09:30")
    if desk.handle("POST", f"/visits/{visit}/arrived", {}, badge="B-31")[0] != 200:
        return None
    return name_registration(desk)


def times():
    desk = open_desk(PATIENT)
    visit = book(desk, "2025-06-02 09:30")
    status, body = desk.handle("GET", f"/visits/{visit}/card", {}, badge="B-31")
    return name_time(body) if status == 200 else None


def count_cents(part):
    """What one part of a plan says in cents; None where it is no whole number of them."""
    while isinstance(part, dict) and part:
        part = part.get("cents", part.get("amount", next(iter(part.values()))))
    return part if isinstance(part, int) else None


def money():
    status, body = open_desk(PATIENT).handle("POST", "/patients/1/plan", {"cents": 10000, "parts": 3}, badge="B-31")
    if status not in (200, 201) or not isinstance(body.get("parts"), list) or len(body["parts"]) != 3:
        return None
    parts = [count_cents(part) for part in body["parts"]]
    if None in parts:
        return "floats of euros"
    return "whole cents and none lost" if sorted(parts) == [3333, 3333, 3334] else "whole cents and one lost"


if __name__ == "__main__":
    main(twice=twice, registration=registration, times=times, money=money)
