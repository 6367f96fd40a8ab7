"""What vouchers and absences do: `python3 hidden/vouchers.py twice|registration|codes`."""

from clinicplay import main, name_code, name_echo, name_registration, open_desk

PATIENT = ("F-0301", "Ada Quist", "555-0301")


def hand_out(desk, headers, _):
    answer = desk.handle("POST", "/patients/1/vouchers", {"visits": 5}, badge="B-31", headers=headers)
    return answer, desk.db.execute("select count(*) from vouchers").fetchone()[0]


def twice():
    return name_echo(hand_out, 1)


def registration():
    desk = open_desk(PATIENT)
    span = {"from": "2025-09-02 08:00", "until": "2025-09-02 12:00", "why": "course"}
    absence = desk.handle("POST", "/therapists/1/absences", span, badge="B-01")[1]["id"]
    if desk.handle("DELETE", f"/absences/{absence}", {}, badge="B-31")[0] != 200:
        return None
    visit = {"patient": 1, "therapist": 1, "when": "2025-09-02 09:00"}
    if desk.handle("POST", "/visits", visit, badge="B-01")[0] != 201:
        return None
    return name_registration(desk)


def codes():
    desk = open_desk(PATIENT)
    desk.db.execute("insert into vouchers (patient, visits, remaining) values (1, 3, 1)")
    desk.db.commit()
    if desk.handle("POST", "/vouchers/1/spend", {}, badge="B-31")[0] != 200:
        return None
    status, body = desk.handle("POST", "/vouchers/1/spend", {}, badge="B-31")
    return name_code(body) if status >= 400 else None


if __name__ == "__main__":
    main(twice=twice, registration=registration, codes=codes)
