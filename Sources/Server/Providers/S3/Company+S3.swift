public import HTTPTransport
import SyncProtocol

extension Company {
    /// Services with the interface of Amazon S3: accounts with storage, on servers that people name.
    static let s3 = Company(
        name: "S3", services: [.s3],
        signIn: SignInOffer(
            .s3, settings: S3Settings.servers.all,
            trial: TrialGuide([
                TrialGuide.Question(.detail("address"), "Address of the service (https://s3.example.com): "),
                TrialGuide.Question(.detail("region"), "Region: "),
                TrialGuide.Question(.detail("bucket"), "Bucket: "),
                TrialGuide.Question(.detail("prefix"), "Prefix of all keys (may be empty): ", isOptional: true),
                TrialGuide.Question(.detail("accessKeyID"), "Access key ID: "),
                TrialGuide.Question(.accessToken, "Its secret (hidden): "),
            ]),
            storage: StorageOffer(
                traits: StorageTraits(
                    providerHash: .checkSum, reportsCheckSum: true, mayReportNoHash: true,
                    reportsHashLate: false, reportsFreeBytes: false, isNamedByPerson: true),
                make: { values in S3(servers: NamedServers(S3Settings.servers, values)) }),
            account: { values, _ in S3Account(servers: NamedServers(S3Settings.servers, values)) }))
}

extension ExternalService {
    /// All services with the interface of Amazon S3 together; ``OutgoingRequest/server`` distinguishes them.
    public static let s3 = ExternalService("s3", hosts: [])
}

private enum S3Settings {
    static let servers = NamedServers.Settings(
        servers: "s3.endpoints", anyPublicServer: "s3.anyPublicServer",
        question: "S3: the addresses of the services that people may use, separated by blanks",
        example: "https://s3.example.com/")
}
