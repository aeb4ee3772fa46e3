"""Foreign judges of the documents that shared/documents writes, and of signed meter values: `judge.py RULES_DIR [--documents N]`.

- The rules of CEN for EN 16931 (RULES_DIR has EN16931-UBL-validation.xslt and EN16931-CII-validation.xslt of
  ConnectingEurope/eInvoicing-EN16931) accept N random documents in both syntaxes, and refuse one with another amount due.
- Fractions add up to the same totals as the documents.
- pyocmf verifies the signed meter values of a session that the API has handed out, and refuses them with one byte changed.
- factur-x reads the CII out of PDFs and accepts it, qpdf accepts the PDFs, and pdftotext finds number, parties and totals.

Needs the packages of requirements.txt, and qpdf and pdftotext on the path. Without RULES_DIR or without one of the two programs their
checks are left out, which the last line says.
"""

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SVRL = "{http://purl.oclc.org/dsdl/svrl}"
RAM = "{urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100}"
CBC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2}"
CAC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2}"


class Rules:
    """The rules of CEN for one syntax."""

    def __init__(self, processor, stylesheet):
        self.processor = processor
        self.stylesheet = processor.new_xslt30_processor().compile_stylesheet(stylesheet_file=str(stylesheet))

    def violated(self, xml):
        """The ids of the rules that an XML document violates."""
        report = self.stylesheet.transform_to_string(xdm_node=self.processor.parse_xml(xml_text=xml))
        return sorted(failed.get("id") for failed in ElementTree.fromstring(report).iter(f"{SVRL}failed-assert"))


def rounded(amount):
    """Half a unit is rounded away from zero."""
    magnitude = (abs(amount) * 2 + 1) // 2
    return int(magnitude if amount >= 0 else -magnitude)


def totals(document):
    """The totals of a document, in minor units, computed with fractions."""
    nets = {}
    for line in document["lines"]:
        key = (line["category"], Fraction(line["percent"]))
        nets[key] = nets.get(key, 0) + line["net"]
    by_rate = {key: (net, rounded(net * key[1] / 100)) for key, net in nets.items()}
    net = sum(net for net, _ in by_rate.values())
    gross = net + sum(tax for _, tax in by_rate.values())
    return by_rate, net, gross, gross - document["prepaid"] + document["rounding"]


def written_totals(document, ubl, cii):
    """The totals that the XML documents state, in minor units, in the order of totals()."""
    def minor(element):
        amount = Fraction(element.text) * 10 ** document["decimals"]
        assert amount.denominator == 1, element.text
        return int(amount)

    root = ElementTree.fromstring(ubl)
    by_rate = {}
    for subtotal in root.iter(f"{CAC}TaxSubtotal"):
        category = subtotal.find(f"{CAC}TaxCategory")
        percent = category.findtext(f"{CBC}Percent", default="0")
        key = (category.findtext(f"{CBC}ID"), Fraction(percent))
        by_rate[key] = (minor(subtotal.find(f"{CBC}TaxableAmount")), minor(subtotal.find(f"{CBC}TaxAmount")))
    total = root.find(f"{CAC}LegalMonetaryTotal")
    in_ubl = (by_rate, *(minor(total.find(CBC + name)) for name in ("TaxExclusiveAmount", "TaxInclusiveAmount", "PayableAmount")))

    root = ElementTree.fromstring(cii)
    by_rate = {}
    settlement = next(root.iter(f"{RAM}ApplicableHeaderTradeSettlement"))
    for tax in settlement.findall(f"{RAM}ApplicableTradeTax"):
        key = (tax.findtext(f"{RAM}CategoryCode"), Fraction(tax.findtext(f"{RAM}RateApplicablePercent", default="0")))
        by_rate[key] = (minor(tax.find(f"{RAM}BasisAmount")), minor(tax.find(f"{RAM}CalculatedAmount")))
    total = settlement.find(f"{RAM}SpecifiedTradeSettlementHeaderMonetarySummation")
    in_cii = (by_rate, *(minor(total.find(RAM + name)) for name in ("TaxBasisTotalAmount", "GrandTotalAmount", "DuePayableAmount")))
    return in_ubl, in_cii


def tampered(xml, element):
    """The document with one unit more in the amount due."""
    changed, count = re.subn(rf"(<{element}[^>]*>)(-?\d+)", lambda found: f"{found[1]}{int(found[2]) + 1}", xml)
    assert count == 1, f"{count} elements {element}"
    return changed


def judge_xml(folder, rules):
    """Judges all XML documents in a folder, and returns their number."""
    seen = 0
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text())
        if not path.with_suffix(".cii.xml").exists():
            continue
        texts = {syntax: path.with_suffix(f".{syntax}.xml").read_text() for syntax in ("ubl", "cii")}
        expected = totals(document)
        for syntax, written in zip(texts, written_totals(document, **texts)):
            assert written == expected, f"{path.stem}.{syntax}: {written} instead of {expected}"
        for syntax, judge in rules.items():
            violated = judge.violated(texts[syntax])
            assert not violated, f"{path.stem}.{syntax}: {violated}"
        seen += 1
    if rules:
        amounts = {"ubl": "cbc:PayableAmount", "cii": "ram:DuePayableAmount"}
        for syntax, element in amounts.items():
            violated = rules[syntax].violated(tampered(texts[syntax], element))
            assert "BR-CO-16" in violated, f"a wrong amount due in {syntax} was not found: {violated}"
    return seen


def readable(amount, decimals, language):
    """An amount as a PDF shows it."""
    text = f"{Decimal(abs(amount)).scaleb(-decimals):,.{decimals}f}"
    if language == "de":
        text = text.translate(str.maketrans(",.", ".,"))
    return ("\u2212" if amount < 0 else "") + text


def judge_pdf(path, document):
    """Judges a PDF, and returns the names of the judges."""
    from facturx import get_facturx_xml_from_pdf, xml_check_xsd

    judges = ["factur-x"]
    name, xml = get_facturx_xml_from_pdf(path.read_bytes(), check_xsd=True)
    if path.with_suffix(".cii.xml").exists():
        assert name == "factur-x.xml", f"{path.name}: {name}"
        assert xml == path.with_suffix(".cii.xml").read_bytes(), f"{path.name}: the XML inside is another"
        assert xml_check_xsd(xml, flavor="factur-x", level="en16931")
    else:
        assert not name, f"{path.name}: {name}"
    if shutil.which("qpdf"):
        checked = subprocess.run(["qpdf", "--check", path], capture_output=True, text=True)
        assert checked.returncode == 0, f"{path.name}: {checked.stdout}{checked.stderr}"
        judges.append("qpdf")
    if shutil.which("pdftotext"):
        read = subprocess.run(["pdftotext", "-raw", path, "-"], capture_output=True, text=True, check=True).stdout
        words = read.split()
        _, net, gross, due = totals(document)
        amounts = [readable(amount, document["decimals"], document["language"]) for amount in (net, gross, due)]
        for expected in [document["number"], *amounts]:
            assert expected in words, f"{path.name} does not show {expected}"
        # Long names are on several lines, and control characters are left out.
        for party in ("seller", "buyer"):
            name = "".join(re.sub("[\1\ufffe]", "", document[party] or "").split())
            assert name in "".join(words), f"{path.name} does not show {name}"
        judges.append("pdftotext")
    return judges


def is_verified(signed, key):
    """Whether pyocmf accepts signed meter values."""
    from pyocmf import OCMF, PyOCMFError

    try:
        return OCMF.from_string(signed, strict=True).verify_signature(key)
    except PyOCMFError:
        return False


def judge_signed_values(folder):
    """Judges the signed meter values that a network has sent and the API has handed out, and returns their number."""
    from pyocmf import OcmfContainer

    path = folder / "signed-meter-values.xml"
    command = ["cargo", "test", "--quiet", "--workspace", "--test", "api", "signed_meter_values_are_downloaded"]
    environment = os.environ | {"SIGNED_METER_VALUES": str(path)}
    subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    tree = ElementTree.parse(path)
    values = tree.getroot().findall("value")
    for value in values:
        signed, key = value.find("signedData"), value.findtext("publicKey")
        is_plain = signed.get("encoding") == "plain"
        text = signed.text if is_plain else base64.b64decode(signed.text).decode()
        assert is_verified(text, key), f"refused: {text}"
        payload = text.split("|")[1]
        for digit in re.finditer(r"\d", payload):
            other = str((int(digit[0]) + 1) % 10)
            changed = payload[: digit.start()] + other + payload[digit.end() :]
            assert not is_verified(text.replace(payload, changed), key), f"accepted: {changed}"
        if not is_plain:
            tree.getroot().remove(value)
    # pyocmf reads plain values out of the file by itself.
    tree.write(path, encoding="utf-8")
    records = OcmfContainer.from_xml(path, strict=True)
    assert all(record.public_key and record.verify_signature() for record in records)
    return len(values)


def run_example(*arguments):
    subprocess.run(["cargo", "run", "--quiet", "--package", "documents", "--example", *arguments], check=True, cwd=ROOT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", type=Path, nargs="?", metavar="RULES_DIR", help="the folder of the rules of CEN")
    parser.add_argument("--documents", type=int, default=100, metavar="N", help="the number of random documents")
    parser.add_argument("--pdfs", type=int, default=20, metavar="N", help="how many of them are judged as PDF, too")
    options = parser.parse_args()

    rules, left_out = {}, [f"{program} (not installed)" for program in ("qpdf", "pdftotext") if not shutil.which(program)]
    sheets = {syntax: options.rules / f"EN16931-{syntax.upper()}-validation.xslt" for syntax in ("ubl", "cii")} if options.rules else {}
    if sheets and all(sheet.exists() for sheet in sheets.values()):
        from saxonche import PySaxonProcessor

        processor = PySaxonProcessor(license=False)
        rules = {syntax: Rules(processor, sheet) for syntax, sheet in sheets.items()}
    else:
        left_out.append(f"the rules of CEN ({'not in ' + str(options.rules) if options.rules else 'no folder given'})")

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run_example("random", str(options.documents), str(folder), str(options.pdfs))
        seen = judge_xml(folder, rules)
        assert seen >= options.documents, f"{seen} documents were written"
        print(f"{seen} documents: equal totals with fractions{', accepted by the rules of CEN' if rules else ''}", flush=True)
        pdfs = sorted(folder.glob("*.pdf"))
        judges = [judge_pdf(path, json.loads(path.with_suffix(".json").read_text())) for path in pdfs]
        assert judges, "no PDF was written"
        print(f"{len(pdfs)} PDFs: accepted by {', '.join(judges[0])}")
        print(f"{judge_signed_values(folder)} signed meter values: verified by pyocmf, and refused with a digit changed")
    print(f"left out: {', '.join(left_out)}" if left_out else "nothing was left out")


sys.exit(main())
