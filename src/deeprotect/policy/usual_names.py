"""The names under which people keep time, recording and person in their tables: Timestamp, Subject ID, trial."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

TIME, RECORDING, PERSON = "time", "recording", "person"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Without case, spaces, punctuation and a unit in brackets. A sure name outranks a likely one.
_SURE_TIME = _set(
    "time timestamp timestamps datetime datetimeutc epoch epochtime unixtime unixtimestamp sensortimestamp sensortime "
    "eventtime sampletime systemtime utctime timeutc timestamputc elapsedtime timeelapsed zeit zeitstempel uhrzeit "
    "zeitpunkt messzeit temps horodatage tiempo tempo tijd tijdstip czas tid tidpunkt aika"
)
_LIKELY_TIME = _set(
    "t ts date clock elapsed seconds secondselapsed elapsedseconds sec secs millis milliseconds microseconds "
    "nanoseconds ms us ns"
)
_RECORDING = _set(
    "recording recordingid recordingname rec recid trial trialid trialnumber trialno session sessionid segment "
    "segmentid take bout episode runid runnumber seriesid experiment experimentid expid file filename fileid "
    "sourcefile clip clipid measurementid activityid trip tripid tripnumber tripno ride rideid journey journeyid "
    "aufnahme aufnahmeid aufnahmenr aufzeichnung messung messungid messungnr messreihe versuch versuchnr durchgang "
    "sitzung fahrt datei enregistrement essai séance seance grabación grabacion ensayo sesión sesion registrazione "
    "prova sessione opname meting nagranie pomiar inspelning optagelse"
)
_PERSON = _set(
    "person personid subject subjectid subj subjid participant participantid user userid username speaker speakerid "
    "volunteer volunteerid patient patientid driver driverid wearer wearerid individual individualid proband "
    "probandid probandin teilnehmer teilnehmerid teilnehmernr teilnehmerin versuchsperson vpn vpnr nutzer benutzer "
    "personne sujet utilisateur persona sujeto participante usuario paciente soggetto partecipante utente deelnemer "
    "proefpersoon uczestnik osoba deltagare deltager"
)
_TELLING = _set(
    "name firstname lastname surname fullname email mail phone phonenumber address street imei imsi mac macaddress ip "
    "ipaddress deviceid androidid serial serialnumber birthday birthdate dateofbirth dob ssn passport"
)
_BRACKETS = re.compile(r"[\[(].*?[\])]")
_SEPARATORS = re.compile(r"[\W_]+")
_UNIT_AT_END = re.compile(
    r"(?:^|[\s_.\-(\[]|(?<=[a-z])(?=[A-Z]))"  # at the beginning, after a separator, or where camel case begins a word
    r"((?i:s|secs?|seconds|ms|millis|milliseconds|[uµμ]s|microseconds|ns|nanos|nanoseconds))[\])]?\s*$"
)
_PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "µ": 10**6, "μ": 10**6, "n": 10**9}


@dataclass(frozen=True)
class FoundColumns:
    """Columns of a table by their names alone: those that may be the time, the recording, the person."""

    time: tuple[str, ...]
    recording: tuple[str, ...]
    person: tuple[str, ...]

    @classmethod
    def among(cls, names: Iterable[str], *, but: Collection[str] = ()) -> Self:
        """`but` are columns that are known to be something else. The plain name alone decides where it is there."""
        free = [name for name in names if name not in but]
        sure = _named(free, _SURE_TIME)
        time = sure or _named([name for name in free if name], _LIKELY_TIME)
        recording, person = _named(free, _RECORDING), _named(free, _PERSON)
        return cls(_plain(TIME, time), _plain(RECORDING, recording), tuple(person))


def is_telling(name: str) -> bool:
    """Whether a column is named like something that tells who a person is, directly."""
    return _word(name) in _TELLING


def ticks_per_second(name: str) -> int | None:
    """The unit that a time column states in its name: `Time (ms)`, `t_us`, `timestampNs`."""
    found = _UNIT_AT_END.search(name)
    if found is None:
        return None
    unit = found[1].lower()
    return _PER_SECOND["u" if unit.startswith("micro") else unit[0]]


def _named(names: Iterable[str], words: Collection[str]) -> list[str]:
    return [name for name in names if _word(name) in words or _word(_UNIT_AT_END.sub("", name)) in words]


def _word(name: str) -> str:
    return _SEPARATORS.sub("", _BRACKETS.sub("", name)).lower()


def _plain(word: str, names: list[str]) -> tuple[str, ...]:
    return (word,) if word in names else tuple(names)
