"""What the endpoints of the hall do: `python3 hidden/hall.py registration|codes|times`."""

from clinicplay import book, main, name_code, name_registration, name_time, open_desk

PATIENTS = ("F-0201", "Nele Arp", "555-0201"), ("F-0202", "Tomas Brandl", "555-0202")


def registration():
    desk = open_desk(*PATIENTS)
    status, _ = desk.handle("POST", "/waitlist", {"patient": 1, "therapist": 2}, badge="B-31")
    return name_registration(desk) if status in (200, 201) else None


def codes():
    desk = open_desk(*PATIENTS)
    booked, cancelled = book(desk, "2025-09-02 09:00"), book(desk, "2025-09-02 10:00")
    desk.db.execute("update visits set status = 'cancelled' where id = ?", (cancelled,))
    desk.db.commit()
    if desk.handle("POST", f"/visits/{booked}/missed", {}, badge="B-31")[0] != 200:
        return None
    status, body = desk.handle("POST", f"/visits/{cancelled}/missed", {}, badge="B-31")
    return name_code(body) if status >= 400 else None


def times():
    desk = open_desk(*PATIENTS)
    book(desk, "2025-06-02 09:30")
    status, body = desk.handle("GET", "/patients/1/agenda", {}, badge="B-31")
    return name_time(body) if status == 200 else None


if __name__ == "__main__":
    main(registration=registration, codes=codes, times=times)
