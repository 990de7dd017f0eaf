public import HTTPTransport
import SyncProtocol

extension Company {
    /// Amazon: push.
    static let amazon = Company(
        name: "Amazon", services: [.sns],
        push: PushOffer(
            section: "awssns",
            settings: [
                SNSSettings.accessKeyID, SNSSettings.secretKey, SNSSettings.region, SNSSettings.platformApplicationARN,
            ],
            objections: { values in
                let (region, arn) = (values.text(SNSSettings.region), values.text(SNSSettings.platformApplicationARN))
                guard !region.isEmpty, let found = SNSSettings.region(ofARN: arn), found != region else { return [] }
                return [
                    (SNSSettings.platformApplicationARN, "is in region \(found), which differs from awssns.region")
                ]
            },
            install: { values, services, now in
                guard let secretKey = values.secret(SNSSettings.secretKey) else {
                    services.elsewhere.insert(.sns)
                    return
                }
                services.sns = SNS(
                    accessKeyID: values.text(SNSSettings.accessKeyID), secretKey: secretKey.value,
                    region: values.text(SNSSettings.region),
                    platformApplicationARN: values.text(SNSSettings.platformApplicationARN), now: now)
            }))
}

extension ExternalService {
    /// Simple Notification Service.
    public static let sns = ExternalService("sns", hosts: [".amazonaws.com", ".amazonaws.com.cn"])
}

private enum SNSSettings {
    static let accessKeyID = Setting.required(
        "awssns.accessKeyId",
        SetupQuestion(
            "Push through Amazon SNS, as older servers do: the access key ID", form: .awsAccessKeyID,
            option: SetupOption("sns-access-key-id", "id", "For push through Amazon's SNS: the access key's ID.")))
    /// The api role registers devices; only the jobs role sends notifications.
    static let secretKey = Setting.secret(
        "awssns.secretKey", readers: [.api, .jobs], .secret(fileName: "aws-secret-key", option: "sns-secret-key-file"))
    static let region = Setting.required(
        "awssns.region",
        SetupQuestion(
            "Amazon: the region", form: .any(example: "us-west-2"),
            option: SetupOption("sns-region", "name", "The region, such as us-west-2.")),
        objection: { text in
            let isName = text.utf8.allSatisfy {
                ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || (0x30...0x39).contains($0) || $0 == 0x2D
            }
            return isName ? nil : "must be the name of a region, such as us-west-2"
        })
    static let platformApplicationARN = Setting.required(
        "awssns.platformApplicationArn",
        SetupQuestion(
            "Amazon: the platform application's ARN",
            form: .any(example: "arn:aws:sns:us-west-2:123456789012:app/APNS/MyApp"),
            option: SetupOption("sns-platform-application-arn", "arn", "The ARN of the platform application.")),
        objection: { text in
            region(ofARN: text) == nil
                ? "must be the ARN of a platform application, such as "
                    + "arn:aws:sns:us-west-2:123456789012:app/APNS/MyApp" : nil
        })

    /// The region in `arn:aws:sns:REGION:ACCOUNT:app/APNS/NAME`; `nil` if `text` does not have that form.
    static func region(ofARN text: String) -> String? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "arn", parts[2] == "sns", parts[5].hasPrefix("app/") else { return nil }
        return String(parts[3])
    }
}
