import HTTPTransport
import Providers
import SyncProtocol
import Testing

@Suite("Services of companies")
struct ServiceTests {
    @Test(
        "A service owns exactly its hosts",
        arguments: [
            (ExternalService.google, "https://www.googleapis.com/upload", true),
            (.google, "https://storage.googleapis.com/x", true),
            (.google, "https://fcm.googleapis.com/x", false),
            (.google, "https://evilgoogleapis.com/x", false),
            (.google, "https://www.googleapis.com.evil.example/x", false),
            (.microsoft, "https://my.microsoftpersonalcontent.com/personal/1", true),
            (.microsoft, "https://contoso-my.sharepoint.com/personal/1", true),
            (.microsoft, "https://public.sn.files.1drv.com/y4m", true),
            (.microsoft, "https://127.0.0.1/x", false),
            (.microsoft, "https://metadata.internal/x", false),
            (.microsoft, "https://www.googleapis.com/x", false),
        ])
    func owners(service: ExternalService, url: String, isOwn: Bool) { #expect(service.owns(url) == isOwn) }

    @Test("The table contains each host once")
    func table() {
        let hosts = Company.services.flatMap(\.hosts)
        #expect(Set(hosts).count == hosts.count)
    }

    @Test("Each service has a unique name")
    func names() {
        let names = Company.services.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test("One company offers each account type, with a storage and its traits where the protocol has a storage")
    func offers() {
        let types = Company.signIns.map(\.accountType)
        #expect(types.count == AccountType.allCases.count && Set(types).count == types.count)
        for offer in Company.signIns {
            #expect((offer.storage == nil) == (offer.accountType.cloudStorageType == nil), "\(offer.accountType)")
        }
    }

    @Test("The traits of a storage do not contradict each other")
    func traits() {
        for traits in CloudStorageType.allCases.map(\.traits) {
            #expect(!traits.reportsCheckSum || traits.providerHash == .checkSum && !traits.reportsHashLate)
            #expect(!traits.mayReportNoHash || traits.reportsCheckSum)
        }
    }

    @Test("An exact entry precedes one that matches many hosts, whose own names are not kept")
    func entries() {
        #expect(ExternalService.google.entry(for: "www.googleapis.com") == "www.googleapis.com")
        #expect(ExternalService.google.entry(for: "storage.googleapis.com") == ".googleapis.com")
        #expect(ExternalService.google.entry(for: "example.com") == nil)
    }
}
